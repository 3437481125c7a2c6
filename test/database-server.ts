// The database server of a test run: started once, before the first test, for all test files.
import type { TestProject } from 'vitest/node'
import { startPostgres } from './postgres.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** The URL of the server's database `postgres`. Tests create databases of their own. */
    postgresUrl: string
  }
}

/** Crashes of the server itself are not tested on this one, so it need not wait for the disk. */
const settings = ['fsync=off', 'full_page_writes=off', 'max_connections=1000']

/** The global setup of vitest. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres(settings)
  project.provide('postgresUrl', server.url)
  return () => server.remove()
}
