// The tool policy as a matrix: which agent may use which tool, and the layer that decided.
import { useEffect, useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import { Dialog } from '../ui/dialog.tsx'
import { Select } from '../ui/fields.tsx'
import { Badge, Loading, Notice, toneOf } from '../ui/parts.tsx'
import { mainSessionOf } from '../ui/session-key.ts'

type Explanation = Reply<'POST /tools/explain'>

const callers = [
  ['hook', 'in a run that a webhook starts'],
  ['chat', 'in the main session, while a person chats'],
  ['heartbeat', 'in the main session, in a heartbeat'],
  ['http', 'called over HTTP'],
] as const

/** How many explanations are requested at once. */
const parallel = 6

export function Matrix({ agents }: { agents: readonly string[] }) {
  const { call, live, router } = useApp()
  const { caller: asked } = router.location.value.query
  const [caller] = callers.find(([name]) => name === asked) ?? callers[0]
  const extensions = useLoaded('extensions', () => call('GET /api/extensions'))
  const tools = extensions.value.value?.policy.tools ?? []
  const [cells, setCells] = useState<ReadonlyMap<string, Explanation>>(new Map())
  const [problem, setProblem] = useState<string>()
  const [shown, setShown] = useState<{ agentId: string; explanation: Explanation }>()
  const key = JSON.stringify([agents, tools, caller, live.epoch.value])

  useEffect(() => {
    let isCurrent = true
    setCells(new Map())
    const waiting = tools.flatMap(({ name }) => agents.map((agentId) => ({ name, agentId })))
    const work = async (): Promise<void> => {
      for (let cell = waiting.shift(); cell && isCurrent; cell = waiting.shift()) {
        const { name, agentId } = cell
        const origin = caller === 'http' ? {} : { origin: caller }
        const explanation = await call('POST /tools/explain', {
          body: { tool: name, sessionKey: mainSessionOf(agentId), ...origin },
        })
        if (isCurrent) setCells((known) => new Map(known).set(`${agentId} ${name}`, explanation))
      }
    }
    Promise.all(Array.from({ length: parallel }, work)).catch((error: unknown) => setProblem(messageOf(error)))
    return () => void (isCurrent = false)
  }, [key])

  if (!extensions.value.value) return <Loading />
  return (
    <div class="content">
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      <div class="line">
        <span>Which tools each agent may use</span>
        <Select
          label="Caller"
          value={caller}
          options={callers}
          onChange={(value) => router.filter({ tab: 'policy', caller: value })}
        />
      </div>
      <div class="card wide" tabIndex={0} role="region" aria-label="Policy">
        <table class="table">
          <thead>
            <tr>
              <th>Tool</th>
              <th>Group</th>
              {agents.map((id) => (
                <th key={id}>{id}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {tools.map(({ name, group, toolset }) => (
              <tr key={name}>
                <th scope="row" class="mono">
                  {name}
                </th>
                <td class="muted">{group ?? toolset}</td>
                {agents.map((agentId) => {
                  const explanation = cells.get(`${agentId} ${name}`)
                  return (
                    <td key={agentId}>
                      {explanation && (
                        <button
                          type="button"
                          class={`badge ${toneOf(explanation.verdict)}`}
                          aria-label={`${name} for ${agentId}: ${describe(explanation)}`}
                          onClick={() => setShown({ agentId, explanation })}
                        >
                          {describe(explanation)}
                        </button>
                      )}
                    </td>
                  )
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {shown && (
        <Dialog
          title={`${shown.explanation.tool} for ${shown.agentId}: ${verdicts[shown.explanation.verdict]}`}
          onClose={() => setShown(undefined)}
        >
          <table class="table">
            <thead>
              <tr>
                <th>Layer</th>
                <th>Verdict</th>
                <th>Rule</th>
              </tr>
            </thead>
            <tbody>
              {shown.explanation.layers.map(({ layer, verdict, rule }) => (
                <tr key={layer}>
                  <td>{layer.replaceAll('_', ' ')}</td>
                  <td>
                    {verdict === 'none' ? (
                      <span class="muted">no rule</span>
                    ) : (
                      <Badge tone={toneOf(verdict)}>{verdict}</Badge>
                    )}
                  </td>
                  <td>{rule}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </Dialog>
      )}
    </div>
  )
}

const verdicts: Readonly<Record<Explanation['verdict'], string>> = {
  allow: 'allowed',
  ask: 'asks a person',
  deny: 'denied',
}

function describe({ verdict, layers }: Explanation): string {
  if (verdict === 'allow') return verdicts.allow
  const layer = layers.find((one) => one.verdict === verdict)?.layer ?? 'the policy'
  return `${verdicts[verdict]}${verdict === 'ask' ? ',' : ''} by ${layer.replaceAll('_', ' ')}`
}
