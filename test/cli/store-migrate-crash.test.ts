// Interrupts `store migrate` in the middle of a copy, and continues it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, inject, it, onTestFinished } from 'vitest'
import { temporaryFolder, writeConfig } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { program } from '../program.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { run } from './command-line.ts'

const rows = 30_000

const fillSql = `
  WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < ${rows})
  INSERT INTO transcript (session_key, run_id, message, at)
  SELECT 'agent:main:' || (n % 100), 'run ' || n, '{"text":"message ' || n || '"}', n FROM numbers`

async function newDatabase(): Promise<string> {
  const { url, remove } = await createDatabase(inject('postgresUrl'))
  onTestFinished(remove)
  return url
}

/** A stopped gateway with a large table in its SQLite store, and the URL of an empty database. */
async function prepare(): Promise<{ dir: string; url: string }> {
  const [dir, url] = [temporaryFolder(), await newDatabase()]
  writeConfig(dir)
  await (await openStore({ url: 'sqlite:state/gateway.db', dir, log: silent })).close()
  changeFile(join(dir, 'state/gateway.db'), fillSql)
  return { dir, url }
}

function changeFile(path: string, sql: string): void {
  const db = new DatabaseSync(path)
  db.exec(sql)
  db.close()
}

const disconnectSql = `
  SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()`

type Interruption = NodeJS.Signals | (() => unknown)

/** Starts a migration and interrupts it when it has copied some rows. @returns its exit code */
async function interrupt(dir: string, args: string[], how: Interruption): Promise<[code: unknown, stderr: string]> {
  const child = spawn(process.execPath, [program, 'store', 'migrate', '--json', ...args], { cwd: dir })
  let stderr = ''
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  let lines = 0
  createInterface({ input: child.stdout }).on('line', () => {
    lines += 1
    if (lines === 3) void (typeof how === 'string' ? child.kill(how) : how())
  })
  const [code] = await once(child, 'close')
  return [code, stderr]
}

interface Line {
  type: string
  step?: string
  done?: number
  isEqual?: boolean
}

const linesOf = (stdout: string): Line[] =>
  stdout.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]))

async function finish(dir: string, ...args: string[]) {
  const { code, stdout, stderr } = await run(dir, ['store', 'migrate', '--json', ...args])
  const lines = linesOf(stdout)
  return { code, stderr, begin: lines[0]?.done, isEqual: lines.at(-1)?.isEqual }
}

const openOn = (dir: string, url: string) => openStore({ url, dir, log: silent })

describe('a copy that is interrupted', () => {
  it('to PostgreSQL by SIGINT, kill -9 or a lost connection goes on, and no gateway starts before', async () => {
    const { dir, url } = await prepare()
    expect(await interrupt(dir, ['--to', url], 'SIGINT')).toEqual([
      130,
      'The copy was interrupted. Run the same command again to continue it.\n',
    ])
    const counted = async () => Number((await query(url, 'SELECT count(*) AS n FROM transcript'))[0]?.['n'])
    const first = await counted()
    expect(await interrupt(dir, ['--to', url], 'SIGKILL')).toEqual([null, ''])
    const second = await counted()
    expect(await interrupt(dir, ['--to', url], () => query(url, disconnectSql))).toEqual([
      1,
      expect.stringMatching(/^The copy failed: .*\. When the cause is repaired, run the same command again\.\n$/),
    ])
    const third = await counted()
    expect(0 < first && first < second && second < third && third < rows).toBe(true)
    await expect(openOn(dir, url)).rejects.toThrow(
      /^The store is an unfinished copy of sqlite:\S+gateway\.db; run the same "svc-gateway store migrate" again/,
    )
    expect(await finish(dir, '--to', url)).toEqual({
      code: 0,
      stderr: expect.any(String),
      begin: third,
      isEqual: true,
    })
    expect(await query(url, `SELECT nextval(pg_get_serial_sequence('transcript', 'seq')) AS next`)).toEqual([
      { next: String(rows + 1) },
    ])
    await (await openOn(dir, url)).close()
  })

  it('to SQLite goes on after kill -9, and no gateway starts before', async () => {
    const [dir, url] = [temporaryFolder(), await newDatabase()]
    await (await openOn(dir, url)).close()
    await query(url, fillSql)
    const back = ['--from', url, '--to', 'sqlite:back.db']
    expect(await interrupt(dir, back, 'SIGKILL')).toEqual([null, ''])
    await expect(openOn(dir, 'sqlite:back.db')).rejects.toThrow(
      /^The store is an unfinished copy of postgres:\/\/127\.0\.0\.1:\d+\/\w+; run the same/,
    )
    const finished = await finish(dir, ...back)
    expect(finished).toMatchObject({ code: 0, isEqual: true })
    expect(finished.begin).toBeGreaterThan(0)
    await (await openOn(dir, 'sqlite:back.db')).close()
  })

  it('begins again with --restart when its source is another or has changed, or when the stores differ', async () => {
    const { dir, url } = await prepare()
    await interrupt(dir, ['--to', url], 'SIGKILL')
    await (await openOn(dir, 'sqlite:other.db')).close()
    expect(await finish(dir, '--from', 'sqlite:other.db', '--to', url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        / holds an unfinished copy of another store, sqlite:\S+gateway\.db\. Use --restart/,
      ),
    })
    changeFile(join(dir, 'state/gateway.db'), `DELETE FROM transcript WHERE seq = ${rows}`)
    expect(await finish(dir, '--to', url)).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/ has changed since its copy to \S+ was interrupted\. Use --restart to delete/),
    })
    changeFile(join(dir, 'state/gateway.db'), fillSql.replace(`n < ${rows}`, 'n < 1'))
    changeFile(join(dir, 'state/gateway.db'), `UPDATE transcript SET message = 'changed' WHERE seq = 1`)
    expect(await finish(dir, '--to', url)).toMatchObject({
      code: 1,
      isEqual: false,
      stderr: expect.stringContaining('The copy differs from the source in transcript: something has written to one'),
    })
    await expect(openOn(dir, url)).rejects.toThrow('unfinished copy')
    expect(await finish(dir, '--to', url, '--restart')).toMatchObject({ code: 0, begin: 0, isEqual: true })
  })
})
