import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { nodeScramCrypto as crypto, secureRandom } from '../host/scram-auth.ts';
import {
  formatVerifier,
  MockVerifiers,
  makeVerifier,
  makeVerifiers,
  parseVerifier,
  ScramServer,
} from './scram.ts';

/** RFC 7677, section 3. */
const RFC = {
  salt: new Uint8Array(Buffer.from('W22ZaJ0SNY7soEsUEjb6gQ==', 'base64')),
  serverNonce: '%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0',
  clientFirst: 'n,,n=user,r=rOprNGfwEbeRWgbNEkqO',
  serverFirst: 'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
  clientFinal:
    'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
  serverFinal: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
};

const rfcServer = async (password = 'pencil') =>
  new ScramServer(crypto, await makeVerifier(crypto, password, { salt: RFC.salt }), RFC.serverNonce);

describe('SCRAM-SHA-256', () => {
  it('speaks the exchange of RFC 7677', async () => {
    const server = await rfcServer();
    assert.equal(server.first(RFC.clientFirst), RFC.serverFirst);
    assert.equal(await server.final(RFC.clientFinal), RFC.serverFinal);
  });

  it('refuses the proof of another password', async () => {
    const server = await rfcServer('pen');
    server.first(RFC.clientFirst);
    assert.equal(await server.final(RFC.clientFinal), null);
  });

  it('refuses what is malformed or not offered', async () => {
    for (const [clientFirst, expected] of [
      ['', /malformed/],
      ['n,,n=user', /malformed/],
      ['n,,r=abc,n=user', /malformed/],
      ['x,,n=user,r=abc', /malformed/],
      ['p=tls-unique,,n=user,r=abc', /channel binding was not offered/],
      ['n,a=root,n=user,r=abc', /authorization identity/],
      ['n,,m=ext,n=user,r=abc', /extension/],
    ] as const) {
      const server = await rfcServer();
      assert.throws(() => server.first(clientFirst), expected, clientFirst);
    }
    for (const [clientFinal, expected] of [
      ['', /malformed/],
      [RFC.clientFinal.replace('biws', 'eSws'), /channel binding check failed/],
      [RFC.clientFinal.replace('r=rOpr', 'r=xOpr'), /malformed/],
      [RFC.clientFinal.replace(/p=.*/, 'p=AAAA'), /malformed/],
      [RFC.clientFinal.replace(/p=.*/, 'p=***'), /malformed/],
    ] as const) {
      const server = await rfcServer();
      server.first(RFC.clientFirst);
      await assert.rejects(server.final(clientFinal), expected, clientFinal);
    }
  });

  it('prepares passwords as clients do', async () => {
    const options = { salt: RFC.salt, iterations: 1 };
    const plain = await makeVerifier(crypto, 'IX a', options);
    // RFC 4013's examples: soft hyphen to nothing, a Roman numeral to letters; and a no-break space to a space.
    assert.deepEqual(await makeVerifier(crypto, 'I\u00adX a', options), plain);
    assert.deepEqual(await makeVerifier(crypto, '\u2168\u00a0a', options), plain);
    assert.notDeepEqual(await makeVerifier(crypto, 'ix a', options), plain);
  });

  it('keeps a verifier through its text', async () => {
    const verifier = await makeVerifier(crypto, 'pencil', { salt: RFC.salt });
    const text = formatVerifier(verifier);
    assert.match(text, /^SCRAM-SHA-256\$4096:W22ZaJ0SNY7soEsUEjb6gQ==\$/);
    const read = parseVerifier(text);
    assert.equal(read?.iterations, 4096);
    assert.deepEqual(Buffer.from(read.salt), Buffer.from(verifier.salt));
    assert.deepEqual(Buffer.from(read.serverKey), Buffer.from(verifier.serverKey));
    assert.deepEqual(Buffer.from(read.storedKey), Buffer.from(verifier.storedKey));
    assert.equal(parseVerifier('pencil'), null);
  });

  it('takes passwords and verifiers alike, with a salt each', async () => {
    const text = formatVerifier(await makeVerifier(crypto, 'pencil', { salt: RFC.salt }));
    const options = { crypto, random: secureRandom };
    const verifiers = await makeVerifiers({ ada: 'same', bob: 'same', cyd: text }, options);
    assert.notDeepEqual(verifiers.get('ada')?.salt, verifiers.get('bob')?.salt);
    assert.deepEqual(verifiers.get('cyd')?.salt, RFC.salt);
  });

  it('makes up verifiers that last and differ by user', async () => {
    const mock = new MockVerifiers(crypto, secureRandom);
    const [first, again, other] = [await mock.of('ghost'), await mock.of('ghost'), await mock.of('spook')];
    assert.deepEqual(first, again);
    assert.notDeepEqual(first.salt, other.salt);
    assert.equal(first.salt.length, RFC.salt.length);
  });
});
