// Runs a tool: a form from the schema of its arguments, or JSON, and its result.
import { useState } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { Field } from '../ui/fields.tsx'
import { formatDuration } from '../ui/format.ts'
import { Json } from '../ui/json.tsx'
import { DetailHead } from '../ui/list.tsx'
import { Button, Code, Facts, Notice, Section } from '../ui/parts.tsx'
import { type FormTexts, readForm, type Schema, SchemaForm } from '../ui/schema-form.tsx'

interface InvokeProps {
  tool: Item<'GET /tools'>
  sessionKey: string
  back: string
}

interface Outcome {
  result?: unknown
  problem?: string
  ms: number
}

export function Invoke({
  tool: { name, description, args, effects, group, verdict, rule },
  sessionKey,
  back,
}: InvokeProps) {
  const { call } = useApp()
  const mayRun = useMe().may('POST /tools/invoke')
  const schema = args as Schema
  const [texts, setTexts] = useState<FormTexts>({})
  const [json, setJson] = useState<string>()
  const [problems, setProblems] = useState<Record<string, string>>({})
  const [outcome, setOutcome] = useState<Outcome>()

  const read = (): Record<string, unknown> | undefined => {
    if (json !== undefined) {
      try {
        return JSON.parse(json) as Record<string, unknown>
      } catch {
        setProblems({ json: 'This is not valid JSON.' })
        return undefined
      }
    }
    const form = readForm(schema, texts)
    setProblems(form.problems)
    return Object.keys(form.problems).length > 0 ? undefined : form.value
  }
  const run = async (): Promise<void> => {
    const given = read()
    if (!given) return
    setProblems({})
    const start = performance.now()
    try {
      const { result } = await call('POST /tools/invoke', { body: { tool: name, args: given, sessionKey } })
      setOutcome({ result, ms: performance.now() - start })
    } catch (error) {
      setOutcome({ problem: messageOf(error), ms: performance.now() - start })
    }
  }
  const toggle = (): void =>
    setJson(json === undefined ? JSON.stringify(readForm(schema, texts).value, null, 2) : undefined)

  return (
    <>
      <DetailHead title={name} back={back} />
      <div class="body">
        <p class="break">{description}</p>
        <Facts
          of={[
            ['Group', group],
            ['Effects', effects === 'by-call' ? 'depend on the call' : (effects as string[]).join(', ') || 'none'],
            ['Policy', verdict === 'ask' && 'a person must approve each call of an agent'],
            ['Rule', rule],
            ['Session', <code key="session">{sessionKey}</code>],
          ]}
        />
        {mayRun ? (
          <Section
            title="Arguments"
            action={
              <Button kind="quiet" onClick={toggle}>
                {json === undefined ? 'Write JSON' : 'Use the form'}
              </Button>
            }
          >
            <form
              class="stack"
              onSubmit={(event) => {
                event.preventDefault()
                void run()
              }}
            >
              {json === undefined ? (
                <SchemaForm schema={schema} texts={texts} onChange={setTexts} problems={problems} />
              ) : (
                <Field label="Arguments as JSON" problem={problems['json']}>
                  {(id) => (
                    <textarea
                      id={id}
                      class="input mono"
                      value={json}
                      onInput={({ currentTarget }) => setJson(currentTarget.value)}
                    />
                  )}
                </Field>
              )}
              <div class="line">
                <Button kind="primary" icon="runs" onClick={run}>
                  Run the tool
                </Button>
              </div>
            </form>
          </Section>
        ) : (
          <Section title="Arguments">
            <Json label="Schema of the arguments" value={args} />
          </Section>
        )}
        {outcome && (
          <Section title="Result" action={<span class="muted small">{formatDuration(outcome.ms)}</span>}>
            {outcome.problem === undefined ? (
              <Result value={outcome.result} />
            ) : (
              <Notice tone="bad">{outcome.problem}</Notice>
            )}
          </Section>
        )}
      </div>
    </>
  )
}

function Result({ value }: { value: unknown }) {
  if (typeof value === 'object' && value !== null) return <Json label="Result" value={value} />
  return <Code label="Result" text={typeof value === 'string' ? value : JSON.stringify(value)} />
}
