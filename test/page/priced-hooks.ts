// A gateway with two hooks that have run once, of which one has cost twice as much as the other.
import { type ModelServer, startModel } from '../doubles/model.ts'
import { hookToken, startGateway } from '../helpers.ts'

const mapping = (id: string) => ({
  id,
  match: { path: id },
  messageTemplate: '{{text}}',
  deliver: false,
  wakeMode: 'next-heartbeat',
})

/** @param later what the model does after these runs */
export async function startPricedHooks(...later: Parameters<ModelServer['script']>) {
  const model = await startModel()
  model.script({ text: 'one' }, { tool: 'session_status', args: {} }, { text: 'two' }, ...later)
  const gateway = await startGateway({
    agents: {
      defaults: {
        heartbeat: { every: 0 },
        model: 'double/m',
        models: [{ id: 'double/m', price: { input: 1_000, output: 1_000 } }],
      },
    },
    providers: model.providers,
    hooks: { enabled: true, token: hookToken, mappings: [mapping('cheap'), mapping('dear')] },
  })
  for (const name of ['cheap', 'dear']) await gateway.post(`/hooks/${name}`, { text: 'hi' }, { prefer: 'wait=20' })
  return { ...gateway, model }
}
