/** A MessagePort as the stores of another thread are reached through. */
import type { MessagePort } from 'node:worker_threads';
import type { StorePort } from '../persist/rpc.ts';

export function storePort(port: MessagePort): StorePort {
  return {
    post: (message, transfer) => port.postMessage(message, transfer),
    onMessage: (handler) => {
      port.on('message', handler);
    },
  };
}
