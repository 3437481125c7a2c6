// The view of tools: a form to run one, and the policy as a matrix of agents and tools.
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { Select } from '../ui/fields.tsx'
import { Split } from '../ui/list.tsx'
import { Badge, Empty, LoadingOf } from '../ui/parts.tsx'
import { Invoke } from './invoke.tsx'
import { Matrix } from './matrix.tsx'
import { mainSessionOf } from '../ui/session-key.ts'

export function Tools() {
  const { call, router } = useApp()
  const { item, query } = router.location.value
  const me = useMe()
  const agents = useLoaded('agents', async () => me.agents ?? agentsOf(await call('GET /api/config')))
  const hasPolicy = me.may('GET /api/extensions')
  const tab = hasPolicy && query['tab'] === 'policy' ? 'policy' : 'run'
  const tabs = hasPolicy && (
    <nav class="tabs" aria-label="Tools">
      <a href={formatFragment({ view: 'tools' })} aria-current={tab === 'run' ? 'page' : undefined}>
        {me.may('POST /tools/invoke') ? 'Run' : 'List'}
      </a>
      <a
        href={formatFragment({ view: 'tools', query: { tab: 'policy' } })}
        aria-current={tab === 'policy' ? 'page' : undefined}
      >
        Policy
      </a>
    </nav>
  )
  return (
    <LoadingOf of={agents} what="The agents">
      {(ids) =>
        tab === 'run' ? (
          <Run agents={ids} tabs={tabs} item={item} agentId={query['agent'] ?? ids[0] ?? 'main'} />
        ) : (
          <Split
            bar={
              <>
                <Title />
                {tabs}
              </>
            }
            list={<Matrix agents={ids} />}
          />
        )
      }
    </LoadingOf>
  )
}

const Title = ({ children }: { children?: preact.ComponentChildren }) => (
  <header class="bar">
    <h1>Tools</h1>
    {children}
  </header>
)

/** The configured agents, or the one that replies if none is. */
function agentsOf(config: object): string[] {
  const { agents = {} } = config as { agents?: Readonly<Record<string, unknown>> }
  const ids = Object.keys(agents).filter((id) => id !== 'defaults')
  return ids.length > 0 ? ids : ['main']
}

interface RunProps {
  agents: readonly string[]
  tabs: preact.ComponentChildren
  item: string | undefined
  agentId: string
}

function Run({ agents, tabs, item, agentId }: RunProps) {
  const { call, router } = useApp()
  const tools = useLoaded(`tools ${agentId}`, () =>
    call('GET /tools', { query: { sessionKey: mainSessionOf(agentId) } }),
  )
  const selected = tools.value.value?.items.find(({ name }) => name === item)
  const query = { agent: router.location.value.query['agent'] ?? '' }
  return (
    <Split
      bar={
        <>
          <Title>
            {agents.length > 1 && (
              <Select
                label="Agent"
                value={agentId}
                options={agents.map((id) => [id, id])}
                onChange={(agent) => router.filter({ agent })}
              />
            )}
          </Title>
          {tabs}
        </>
      }
      list={
        <LoadingOf of={tools} what="The tools">
          {({ items }) =>
            items.length === 0 ? (
              <Empty title="The policy allows no tool over HTTP" />
            ) : (
              <ul class="rows" aria-label="Tools">
                {items.map(({ name, group, description, verdict }) => (
                  <li key={name}>
                    <a
                      class="row tool-row"
                      href={formatFragment({ view: 'tools', item: name, query })}
                      aria-current={name === item ? 'true' : undefined}
                    >
                      <strong class="mono">{name}</strong>
                      <span class="muted grow">{description}</span>
                      <span class="line end">
                        {verdict === 'ask' && <Badge tone="warn">asks</Badge>}
                        {group !== undefined && <Badge>{group}</Badge>}
                      </span>
                    </a>
                  </li>
                ))}
              </ul>
            )
          }
        </LoadingOf>
      }
      detail={
        selected && (
          <Invoke
            key={`${agentId} ${selected.name}`}
            tool={selected}
            sessionKey={mainSessionOf(agentId)}
            back={formatFragment({ view: 'tools', query })}
          />
        )
      }
    />
  )
}
