// Makes each use of an encryption session a transaction of its own, which is on disk before the library goes on.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { SignalAuthState, SignalKeyStoreWithTransaction } from 'baileys'
import { isNumber, parseJid } from './address.ts'
import type { Repository } from './send.ts'

export interface Sessions extends Repository {
  /** Decrypts a message and leaves its key unused, so that it can be decrypted again. */
  previewMessage: Repository['decryptMessage']
  previewGroupMessage: Repository['decryptGroupMessage']
}

/**
 * The library encrypts and sends a message in one transaction, which it commits at the end. After a crash in between,
 * the next message would use the same key, and its recipient could not read it. Nor does that transaction exclude the
 * one of an incoming message, so the later commit would undo the other. Here, a message leaves only when its key is
 * stored as used, and the keys of a person or group are used by one message at a time.
 */
export function isolateSessions(repository: Repository, auth: SignalAuthState): Sessions {
  const keys = auth.keys as SignalKeyStoreWithTransaction
  // The library finds its transaction by the asynchronous context.
  const outsideTransaction = AsyncLocalStorage.snapshot()

  /** A person has one session per device, whether the device is named by the phone number or by the LID. */
  async function ownerOf(jid: string): Promise<string> {
    const lid = isNumber(jid) ? await repository.lidMapping.getLIDForPN(jid) : undefined
    const { user, server } = parseJid(lid ?? jid)
    return `${user}@${server}`
  }

  const exclusively = <Result>(jid: string, work: () => Promise<Result>): Promise<Result> =>
    outsideTransaction(async () => await keys.transaction(work, await ownerOf(jid)))

  /** The library undoes a transaction that fails. */
  async function undone<Result>(jid: string, work: () => Promise<Result>): Promise<Result> {
    const done: Result[] = []
    const failing = exclusively(jid, async () => {
      done.push(await work())
      throw new Error('undone')
    })
    return await failing.catch((error: unknown) => {
      if (done.length === 0) throw error
      return done[0] as Result
    })
  }

  return {
    ...repository,
    previewMessage: (message) => undone(message.jid, () => repository.decryptMessage(message)),
    previewGroupMessage: (message) => undone(message.group, () => repository.decryptGroupMessage(message)),
    encryptMessage: (message) => exclusively(message.jid, () => repository.encryptMessage(message)),
    decryptMessage: (message) => exclusively(message.jid, () => repository.decryptMessage(message)),
    injectE2ESession: (bundle) => exclusively(bundle.jid, () => repository.injectE2ESession(bundle)),
    migrateSession: (from, to) => exclusively(to, () => repository.migrateSession(from, to)),
    deleteSession: (jids) => outsideTransaction(() => repository.deleteSession(jids)),
    validateSession: (jid) => outsideTransaction(() => repository.validateSession(jid)),
    getSessionInfo: (jid) => outsideTransaction(() => repository.getSessionInfo(jid)),
    encryptGroupMessage: (message) => exclusively(message.group, () => repository.encryptGroupMessage(message)),
    decryptGroupMessage: (message) => exclusively(message.group, () => repository.decryptGroupMessage(message)),
    getSenderKeyDistributionMessage: (sender) =>
      exclusively(sender.group, () => repository.getSenderKeyDistributionMessage(sender)),
    processSenderKeyDistributionMessage: (message) =>
      outsideTransaction(() => repository.processSenderKeyDistributionMessage(message)),
    hasSenderKey: (sender) => outsideTransaction(() => repository.hasSenderKey(sender)),
  }
}
