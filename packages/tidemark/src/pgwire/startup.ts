/**
 * From the first byte to an authenticated start-up packet: encryption requests, version, SCRAM. Everything here
 * may be said by anyone on the network, under `LIMITS.beforeAuthentication`.
 */
import type { Random } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { CancelRegistry } from './cancel-registry.ts';
import { decodeUtf8, violation } from './frame-reader.ts';
import { AUTHENTICATION, ENCRYPTION, FRONTEND, STARTUP } from './messages.ts';
import { authentication, authenticationSasl, negotiateProtocolVersion } from './replies.ts';
import { readStartup, type StartupPacket } from './requests.ts';
import {
  type MockVerifiers,
  passwordFailed,
  randomNonce,
  SCRAM_MECHANISM,
  type ScramCrypto,
  ScramServer,
  type ScramVerifier,
} from './scram.ts';
import type { WireStream } from './wire-stream.ts';

export type Auth =
  | { readonly kind: 'trust' }
  | {
      readonly kind: 'scram';
      readonly crypto: ScramCrypto;
      readonly random: Random;
      /** One for the server's life, or salts of unknown users would change between logins. */
      readonly mock: MockVerifiers;
      /**
       * Null: no such user. Verifiers, not passwords: hashing one at each login would cost 4 ms and tell, by
       * those, known users from unknown ones.
       */
      readonly verify: (user: string) => ScramVerifier | null | Promise<ScramVerifier | null>;
    };

export interface StartupOptions {
  readonly registry: CancelRegistry;
  readonly requireTls: boolean;
}

export interface Negotiated extends StartupPacket {
  readonly tls: boolean;
}

/** The start-up packet, or null if the connection had another purpose and is done. */
export async function negotiate(wire: WireStream, options: StartupOptions): Promise<Negotiated | null> {
  let tls = false;
  let gssAsked = false;
  for (;;) {
    await wire.frame();
    const frame = wire.in;
    const code = frame.int32();
    switch (code) {
      case STARTUP.sslRequest:
        frame.done();
        if (tls) throw violation('the connection is encrypted already');
        tls = await answerSslRequest(wire);
        break;
      case STARTUP.gssEncRequest:
        frame.done();
        if (gssAsked) throw violation('GSS encryption was refused already');
        gssAsked = true;
        wire.out.rawByte(ENCRYPTION.refuse);
        break;
      case STARTUP.cancelRequest: {
        const pid = frame.int32();
        const secret = frame.take(frame.remaining);
        options.registry.cancel(pid, secret);
        return null;
      }
      default: {
        const major = code >> 16;
        if (major !== 3) {
          const version = `${code >>> 16}.${code & 0xffff}`;
          throw new SqlError(
            'feature_not_supported',
            `unsupported frontend protocol ${version}: server supports 3.0`,
          );
        }
        if (options.requireTls && !tls) {
          throw new SqlError(
            'invalid_authorization_specification',
            'the server accepts TLS connections only',
            {
              hint: 'connect with sslmode=require',
            },
          );
        }
        const packet = readStartup(frame);
        if (code !== STARTUP.protocol3 || packet.unknownOptions.length > 0) {
          negotiateProtocolVersion(wire.out, packet.unknownOptions);
        }
        wire.expectTyped();
        return { ...packet, tls };
      }
    }
  }
}

async function answerSslRequest(wire: WireStream): Promise<boolean> {
  const transport = wire.transport;
  if (transport.startTls === undefined) {
    wire.out.rawByte(ENCRYPTION.refuse);
    return false;
  }
  // Bytes ahead of the handshake are not the client's own: whoever put them there would speak in its name.
  if (wire.in.buffered > 0) throw violation('received unencrypted data after SSL request');
  wire.out.rawByte(ENCRYPTION.accept);
  await wire.flush();
  await transport.startTls();
  return true;
}

/** Proves that the client is `user`, or throws. AuthenticationOk is written, not yet sent. */
export async function authenticate(wire: WireStream, auth: Auth, user: string): Promise<void> {
  if (auth.kind === 'scram') await scram(wire, auth, user);
  authentication(wire.out, AUTHENTICATION.ok);
  wire.liftLimit();
}

async function scram(wire: WireStream, auth: Extract<Auth, { kind: 'scram' }>, user: string): Promise<void> {
  const { crypto, random } = auth;
  const encoder = new TextEncoder();
  authenticationSasl(wire.out, [SCRAM_MECHANISM]);
  await saslFrame(wire);
  const mechanism = wire.in.cstring();
  if (mechanism !== SCRAM_MECHANISM)
    throw violation('client selected an invalid SASL authentication mechanism');
  const length = wire.in.int32();
  if (length < 0) throw violation('the SASL initial response is missing');
  const clientFirst = decodeUtf8(wire.in.take(length));
  wire.in.done();
  const verifier = (await auth.verify(user)) ?? (await auth.mock.of(user));
  const server = new ScramServer(crypto, verifier, randomNonce(random));
  authentication(wire.out, AUTHENTICATION.saslContinue, encoder.encode(server.first(clientFirst)));
  await saslFrame(wire);
  const serverFinal = await server.final(decodeUtf8(wire.in.take(wire.in.remaining)));
  if (serverFinal === null) throw passwordFailed(user);
  authentication(wire.out, AUTHENTICATION.saslFinal, encoder.encode(serverFinal));
}

async function saslFrame(wire: WireStream): Promise<void> {
  await wire.frame();
  if (wire.in.type !== FRONTEND.password)
    throw violation(`expected SASL response, got message type ${wire.in.type}`);
}
