// The channel contract accepts a correct channel and finds each of many faults.
import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { openMailbox } from '../doubles/mailbox.ts'
import { channelContract } from './channel.ts'
import { channelChecks, runCheck } from './channel-checks.ts'
import { trapOutsideConnections } from './loopback.ts'
import { type Fault, mailboxChannel } from './mailbox-channel.ts'

channelContract(mailboxChannel(), openMailbox)

describe('the channel contract', () => {
  it.each<[Fault, ...string[]]>([
    [
      'accepts any credentials',
      'rejects refused credentials with an AuthError',
      'is connecting, connected, connected again after a loss, or refused',
    ],
    ['cuts long texts', 'delivers a message of limits.maxText'],
    ['does not mark groups', 'marks messages in groups, and those that mention the account'],
    ['does not mark mentions', 'marks messages in groups, and those that mention the account'],
    ['does not offer files', 'hands over files', 'ends the download of a file that is larger than stated'],
    ['does not wait for receive', 'receives a message again after a crash before it was stored'],
    ['forgets the wait time of a rate limit', 'returns the wait time of a rate limit and does not retry'],
    [
      'has the text in the detail',
      'returns unknown when the response is lost, and does not send again',
      'returns the wait time of a rate limit and does not retry',
      'returns a failure without secrets and texts when the platform is gone',
    ],
    [
      'has the token in the detail',
      'returns unknown when the response is lost, and does not send again',
      'returns the wait time of a rate limit and does not retry',
      'returns a failure without secrets and texts when the platform is gone',
    ],
    ['has the token in the log', 'delivers messages complete and in order'],
    ['has unstable ids', 'receives a message again after a crash before it was stored'],
    ['leaves a timer after close', 'leaves no socket and no timer after close'],
    ['polls on after close', 'receives nothing after close'],
    [
      'reads files before it hands them over',
      'ends the download of a file that is larger than stated',
      'receives a message whose file cannot be downloaded whole',
    ],
    ['receives its own messages', 'ignores messages of the account itself'],
    ['sends again after a lost answer', 'returns unknown when the response is lost, and does not send again'],
    ['starts from the newest message', 'receives messages and sends replies'],
    [
      'stops after a loss',
      'receives what was said while the connection was lost, once',
      'is connecting, connected, connected again after a loss, or refused',
    ],
    ['stops if receive takes long', 'receives what was said while nothing could be stored, in order'],
    ['stores the cursor before receive', 'receives a message again after a crash before it was stored'],
    ['waits for the poll in close', 'receives nothing after close'],
  ])('finds a channel that %s', async (fault, ...names) => {
    const channel = mailboxChannel(fault)
    const passed: string[] = []
    for (const check of channelChecks(channel).filter(({ name }) => names.includes(name))) {
      const run = runCheck(check, { channel, openPlatform: openMailbox, waitMs: 300 })
      await run.then(() => passed.push(check.name)).catch(() => undefined)
    }
    expect(channelChecks(channel).map(({ name }) => name)).toEqual(expect.arrayContaining(names))
    expect(passed).toEqual([])
  })

  it('refuses and reports connections to other machines while it runs', async () => {
    const trap = trapOutsideConnections()
    const mailbox = await openMailbox()
    try {
      await expect(fetch('http://192.0.2.1/')).rejects.toThrow()
      expect(() => connect(9, '192.0.2.2')).toThrow('192.0.2.2')
      const socket = connect(Number(new URL(mailbox.config.url).port), '127.0.0.1')
      await once(socket, 'connect')
      socket.destroy()
    } finally {
      trap.remove()
      await mailbox.close()
    }
    expect(trap.escapes).toEqual(['192.0.2.1', '192.0.2.2'])
  })
})
