// The server's end of WhatsApp's transport: a Noise XX handshake with a certificate chain, then encrypted frames.
import {
  aesDecryptGCM,
  aesEncryptGCM,
  type BinaryNode,
  Curve,
  decodeBinaryNode,
  encodeBinaryNode,
  hkdf,
  type KeyPair,
  NOISE_MODE,
  NOISE_WA_HEADER,
  proto,
  sha256,
  WA_CERT_DETAILS,
} from 'baileys'
import type { WebSocket } from 'ws'

interface ServerIdentity {
  /** The public key of the authority that signs the chain. */
  root: Uint8Array
  keys: KeyPair
  chain: Uint8Array
}

/** The keys of every server in this process, whose clients trust them instead of those of WhatsApp. */
export const serverIdentity = createServerIdentity()

function createServerIdentity(): ServerIdentity {
  const [root, intermediate, leaf] = [Curve.generateKeyPair(), Curve.generateKeyPair(), Curve.generateKeyPair()]
  const { NoiseCertificate } = proto.CertChain
  const certify = (signer: KeyPair, fields: proto.CertChain.NoiseCertificate.IDetails) => {
    const details = NoiseCertificate.Details.encode(fields).finish()
    return { details, signature: Curve.sign(signer.private, details) }
  }
  const chain = proto.CertChain.encode({
    intermediate: certify(root, { serial: 1, issuerSerial: 0, key: intermediate.public }),
    leaf: certify(intermediate, { serial: 2, issuerSerial: 1, key: leaf.public }),
  }).finish()
  WA_CERT_DETAILS.PUBLIC_KEY.set(root.public)
  return { root: root.public, keys: leaf, chain }
}

export interface Transport {
  send(node: BinaryNode): void
}

interface TransportOptions {
  /** The client's payload after the handshake, and its public key. */
  onHello(payload: proto.ClientPayload, clientKey: Uint8Array): void
  onNode(node: BinaryNode): Promise<void>
  onError(error: unknown): void
}

export function acceptTransport(ws: WebSocket, { onHello, onNode, onError }: TransportOptions): Transport {
  const ephemeral = Curve.generateKeyPair()
  const noise = createNoise()
  let cipher: ReturnType<typeof createFrameCipher> | undefined
  let answered = false
  const writeFrame = (data: Uint8Array): void => {
    const length = Buffer.alloc(3)
    length.writeUIntBE(data.length, 0, 3)
    ws.send(Buffer.concat([length, data]))
  }

  function answerHello(frame: Uint8Array): void {
    const client = proto.HandshakeMessage.decode(frame).clientHello?.ephemeral ?? new Uint8Array()
    noise.absorb(NOISE_WA_HEADER)
    noise.absorb(client)
    noise.absorb(ephemeral.public)
    noise.mix(Curve.sharedKey(ephemeral.private, client))
    const staticKey = noise.encrypt(serverIdentity.keys.public)
    noise.mix(Curve.sharedKey(serverIdentity.keys.private, client))
    const payload = noise.encrypt(serverIdentity.chain)
    const serverHello = { ephemeral: ephemeral.public, static: staticKey, payload }
    writeFrame(proto.HandshakeMessage.encode({ serverHello }).finish())
    answered = true
  }

  function finish(frame: Uint8Array): void {
    const { static: encryptedKey, payload } = proto.HandshakeMessage.decode(frame).clientFinish ?? {}
    const clientKey = noise.decrypt(encryptedKey ?? new Uint8Array())
    noise.mix(Curve.sharedKey(ephemeral.private, clientKey))
    const hello = proto.ClientPayload.decode(noise.decrypt(payload ?? new Uint8Array()))
    cipher = createFrameCipher(noise.split())
    onHello(hello, clientKey)
  }

  async function onFrame(frame: Uint8Array): Promise<void> {
    if (cipher) await onNode(await decodeBinaryNode(Buffer.from(cipher.decrypt(frame))))
    else if (answered) finish(frame)
    else answerHello(frame)
  }

  readFrames(ws, onFrame, onError)
  return { send: (node) => cipher && writeFrame(cipher.encrypt(encodeBinaryNode(node))) }
}

/** Frames are handled one after the other. */
function readFrames(ws: WebSocket, onFrame: (frame: Uint8Array) => Promise<void>, onError: (error: unknown) => void) {
  let buffer = Buffer.alloc(0)
  let isIntroduced = false
  let last = Promise.resolve()
  const read = async (data: Buffer): Promise<void> => {
    buffer = Buffer.concat([buffer, data])
    if (!isIntroduced) buffer = buffer.subarray(NOISE_WA_HEADER.length)
    isIntroduced = true
    while (buffer.length >= 3 && buffer.length >= 3 + buffer.readUIntBE(0, 3)) {
      const frame = buffer.subarray(3, 3 + buffer.readUIntBE(0, 3))
      buffer = buffer.subarray(3 + frame.length)
      await onFrame(frame)
    }
  }
  ws.on('message', (data: Buffer) => {
    last = last.then(() => read(data)).catch(onError)
  })
}

const counter = (count: number): Buffer => {
  const iv = Buffer.alloc(12)
  iv.writeUInt32BE(count, 8)
  return iv
}

function createNoise() {
  let hash: Uint8Array = Buffer.from(NOISE_MODE)
  let salt = Buffer.from(hash)
  let key = salt
  let count = 0
  const absorb = (data: Uint8Array): void => {
    hash = sha256(Buffer.concat([hash, data]))
  }
  return {
    absorb,
    encrypt(plaintext: Uint8Array): Buffer {
      const result = aesEncryptGCM(plaintext, key, counter(count++), hash)
      absorb(result)
      return result
    },
    decrypt(ciphertext: Uint8Array): Buffer {
      const result = aesDecryptGCM(ciphertext, key, counter(count++), hash)
      absorb(ciphertext)
      return result
    },
    mix(secret: Uint8Array): void {
      const keys = Buffer.from(hkdf(Buffer.from(secret), 64, { salt, info: '' }))
      ;[salt, key, count] = [keys.subarray(0, 32), keys.subarray(32), 0]
    },
    split: (): Buffer => Buffer.from(hkdf(Buffer.alloc(0), 64, { salt, info: '' })),
  }
}

function createFrameCipher(keys: Buffer) {
  const [reading, writing] = [keys.subarray(0, 32), keys.subarray(32)]
  let [reads, writes] = [0, 0]
  const nothing = Buffer.alloc(0)
  return {
    decrypt: (frame: Uint8Array) => aesDecryptGCM(frame, reading, counter(reads++), nothing),
    encrypt: (data: Uint8Array) => aesEncryptGCM(data, writing, counter(writes++), nothing),
  }
}
