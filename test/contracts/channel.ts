// What every channel must do: messages arrive complete and once, whatever is lost on the way.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Channel } from '../../core/plugin.ts'
import { channelChecks, runCheck } from './channel-checks.ts'
import { trapOutsideConnections } from './loopback.ts'
import type { Platform } from './platform.ts'

export type { Platform } from './platform.ts'

/** @param openPlatform called before each test; `close` of its result is called afterwards */
export function channelContract<Config>(channel: Channel<Config>, openPlatform: () => Promise<Platform<Config>>): void {
  describe(`channel ${channel.name}`, () => {
    let trap: ReturnType<typeof trapOutsideConnections>
    beforeAll(() => {
      trap = trapOutsideConnections()
    })
    afterAll(() => trap.remove())

    it.each(channelChecks(channel))('$name', async (check) => {
      await runCheck(check, { channel, openPlatform })
      expect(trap.escapes, 'connections that leave this machine').toEqual([])
    })
  })
}
