// What every channel must do: messages arrive complete and once, whatever is lost on the way.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Channel } from '../../core/plugin/plugin.ts'
import { advise } from './advise.ts'
import { checkMs } from './check.ts'
import { channelChecks } from './channel-checks.ts'
import { runCheck } from './channel-scene.ts'
import { trapOutsideConnections } from './loopback.ts'
import { panelChecks } from './panel-checks.ts'
import type { Platform, PlatformAbility } from './platform.ts'
import { reportSuite } from './report.ts'

export type { AcceptedMessage, Platform, PlatformAbility, PlatformSignature } from './platform.ts'
export type { SaidFile } from './said-file.ts'

/**
 * Also fails every other test of the file that tries to connect to another machine.
 *
 * @param openPlatform called before each test; `close` of its result is called afterwards
 * @param options `without` names what the platform or the channel cannot do; what needs it is not tested
 */
export function channelContract<Config>(
  channel: Channel<Config>,
  openPlatform: () => Promise<Platform<Config>>,
  { without = [] }: { without?: readonly PlatformAbility[] } = {},
): void {
  let trap: ReturnType<typeof trapOutsideConnections>
  beforeAll(() => {
    trap = trapOutsideConnections()
  })
  afterEach(() => expect(trap.escapes.splice(0), 'connections to other machines').toEqual([]))
  afterAll(() => trap.remove())

  describe(`channel ${channel.name}`, () => {
    reportSuite([channel], without)
    const checks = channelChecks(channel).filter(
      ({ needs = [], concerns = [] }) => ![...needs, ...concerns].some((ability) => without.includes(ability)),
    )
    it.each(checks)('$name', { timeout: checkMs }, (check) => runCheck(check, { channel, openPlatform, without }))
    for (const { name, advice, run } of panelChecks(channel)) it(name, () => advise(advice, run))
  })
}
