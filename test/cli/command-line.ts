// Runs the command line as users do.
import { execFile } from 'node:child_process'
import { program } from '../program.ts'

export interface Done {
  code: unknown
  stdout: string
  stderr: string
}

/** Runs `svc-gateway <args>` in a folder that is also its home. */
export async function run(
  folder: string,
  args: string[],
  { input = '', env = {} }: { input?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<Done> {
  const done = Promise.withResolvers<Done>()
  const child = execFile(process.execPath, [program, ...args], inFolder(folder, env), (error, stdout, stderr) =>
    done.resolve({ code: error?.code ?? 0, stdout, stderr }),
  )
  child.stdin?.end(input)
  return await done.promise
}

/** The options of a child process in a folder that is also its home. */
export const inFolder = (folder: string, env: NodeJS.ProcessEnv) => ({
  cwd: folder,
  env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: folder, ...env },
})
