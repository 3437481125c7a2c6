// Two gateways on one PostgreSQL: an event that another gateway commits while a run claims its events.
import { Client } from 'pg'
import { expect, inject, it, onTestFinished } from 'vitest'
import { claim, newEvent, newRun, runEnd, start } from '../../contracts/store-samples.ts'
import { createDatabase, query } from '../../postgres.ts'
import { silent } from '../acknowledging.ts'
import { openStore } from '../open-store.ts'

const session = 'agent:main:one'
const all = { count: 100, characters: 1_000_000 }

it('an event that is committed during the claim of another one is not lost', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const store = await openStore({ url: database.url, dir: '/nowhere', log: silent })
  onTestFinished(() => store.close())
  await store.accept({ at: start, runs: [newRun({ sessionKey: session })] })
  const [run] = await claim(store)

  // The other gateway has inserted its event, and has not committed yet.
  const other = new Client({ connectionString: database.url })
  await other.connect()
  onTestFinished(() => other.end())
  await other.query('BEGIN')
  await other.query(
    `INSERT INTO event (id, session_key, text, mode, source, trusted, at)
     VALUES ('event-of-other', $1, 'first', 'now', 'webhook wake', 0, $2)`,
    [session, start],
  )
  await store.accept({ at: start, events: [newEvent({ text: 'second' })] })

  // The lock only makes sure that the commit comes between the statements of the claim.
  await other.query('LOCK TABLE event IN EXCLUSIVE MODE')
  const claiming = store.claimEvents(run!, session, all)
  await expect
    .poll(
      async () => (await query(database.url, `SELECT count(*)::int AS n FROM pg_locks WHERE NOT granted`))[0]?.['n'],
    )
    .toBe(1)
  await other.query('COMMIT')

  const shown = (await claiming).map(({ text }) => text)
  await store.endRun(run!, runEnd({ eventsRendered: true }))
  const waiting = (await store.listWaitingEvents(session, all)).map(({ text }) => text)
  // Each event was shown to the model, or waits for the next turn.
  expect([...shown, ...waiting].toSorted()).toEqual(['first', 'second'])
})
