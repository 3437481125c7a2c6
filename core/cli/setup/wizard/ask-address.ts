// Asks for the address and the port to listen on.
import { fillDefaults } from '../../../config/defaults.ts'
import { type GatewayConfig, GatewaySection } from '../../../config/schema/gateway.ts'
import { listProblems, firstProblem } from '../../../typebox.ts'
import { text } from '@clack/prompts'
import type { Changes } from '../context.ts'
import { answerOf, choose } from '../../prompts.ts'
import { askText } from './ask.ts'

export async function askAddress(): Promise<Changes> {
  const { bind, port } = GatewaySection.properties
  const defaults = fillDefaults(GatewaySection, {}) as GatewayConfig
  const isDefault = await choose('Where should the gateway listen?', [
    { value: true, label: `On this machine only, on port ${defaults.port}` },
    { value: false, label: 'On another address or port' },
  ])
  if (isDefault) return {}
  const address = await askText({
    message: 'The address; 0.0.0.0 opens the gateway to the network',
    initialValue: defaults.bind,
    schema: bind,
    name: 'The address',
  })
  const number = await answerOf(
    text({
      message: 'The port',
      initialValue: String(defaults.port),
      validate: (value = '') => {
        const problems = listProblems(port, /^\d+$/.test(value.trim()) ? Number(value) : value)
        return problems.length > 0 ? `${firstProblem(problems, 'The port')}.` : undefined
      },
    }),
  )
  return { gateway: { bind: address, port: Number(number) } }
}
