/**
 * The protocol's numbers, each once: message types, start-up codes, limits. Names follow the PostgreSQL manual
 * ("Message Formats").
 */

const byte = (letter: string): number => letter.charCodeAt(0);

/** What a client may send after start-up. */
export const FRONTEND = {
  bind: byte('B'),
  close: byte('C'),
  copyData: byte('d'),
  copyDone: byte('c'),
  copyFail: byte('f'),
  describe: byte('D'),
  execute: byte('E'),
  flush: byte('H'),
  functionCall: byte('F'),
  parse: byte('P'),
  /** PasswordMessage, SASLInitialResponse and SASLResponse share it. */
  password: byte('p'),
  query: byte('Q'),
  sync: byte('S'),
  terminate: byte('X'),
} as const;

/** What the server sends. */
export const BACKEND = {
  authentication: byte('R'),
  backendKeyData: byte('K'),
  bindComplete: byte('2'),
  closeComplete: byte('3'),
  commandComplete: byte('C'),
  copyData: byte('d'),
  copyDone: byte('c'),
  copyInResponse: byte('G'),
  copyOutResponse: byte('H'),
  dataRow: byte('D'),
  emptyQueryResponse: byte('I'),
  errorResponse: byte('E'),
  negotiateProtocolVersion: byte('v'),
  noData: byte('n'),
  noticeResponse: byte('N'),
  parameterDescription: byte('t'),
  parameterStatus: byte('S'),
  parseComplete: byte('1'),
  portalSuspended: byte('s'),
  readyForQuery: byte('Z'),
  rowDescription: byte('T'),
} as const;

/** The codes of the messages without a type: major version in the upper half. */
export const STARTUP = {
  protocol3: 3 << 16,
  cancelRequest: (1234 << 16) | 5678,
  sslRequest: (1234 << 16) | 5679,
  gssEncRequest: (1234 << 16) | 5680,
} as const;

/** The answer to SSLRequest and GSSENCRequest. */
export const ENCRYPTION = { accept: byte('S'), refuse: byte('N') } as const;

export const AUTHENTICATION = { ok: 0, sasl: 10, saslContinue: 11, saslFinal: 12 } as const;

/** `S` and `P` of Describe and Close. */
export const TARGET = { statement: byte('S'), portal: byte('P') } as const;

export const LIMITS = {
  /** Nobody unknown makes the server buffer more: PostgreSQL's own figure for the start-up packet. */
  beforeAuthentication: 10_000,
  /** One message of an authenticated client. */
  message: 256 * 1024 * 1024,
  /** Received and not yet looked at, past which the socket is not read. */
  inputHighWater: 1024 * 1024,
  /** Written and not yet handed to the socket, past which it is. */
  outputHighWater: 64 * 1024,
  /** A message sent: its length is a signed 32-bit integer and PostgreSQL's clients stop at a GiB. */
  outputMessage: 1024 * 1024 * 1024 - 1,
  /** Messages handled before the event loop gets a turn. */
  messagesPerTurn: 128,
} as const;
