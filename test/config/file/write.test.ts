// Writing the configuration file atomically, also if the disk is full.
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { writePrivateFile } from '../../../core/config/file/write.ts'
import { temporaryFolder } from '../../helpers.ts'
import { program } from '../../program.ts'

/** Starts the gateway in a process that may only write files up to this size. */
const startLimited = (bytes: number, ...args: string[]): Promise<{ code: number | null; stderr: string }> =>
  new Promise((resolve) => {
    const command = [`--fsize=${bytes}`, process.execPath, program, 'start', ...args]
    const child = execFile('prlimit', command, (_error, _stdout, stderr) => resolve({ code: child.exitCode, stderr }))
  })

describe('writing the configuration file', () => {
  it('keeps the old file if the disk is full', async () => {
    const dir = temporaryFolder()
    const file = join(dir, 'gateway.json5')
    const text = `// ${'é'.repeat(5_000)}\n{ gateway: { port: 0 } }\n`
    writeFileSync(file, text, { mode: 0o600 })
    const { code, stderr } = await startLimited(4_096, '--config', file)
    expect(code).toBe(1)
    expect(stderr).toContain(
      'gateway.auth.token is missing, and a new one cannot be written to the file (EFBIG); set it or SVC_GATEWAY_TOKEN',
    )
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(readdirSync(dir)).toEqual(['gateway.json5'])
  })

  it('writes a long text completely to a private file', () => {
    const file = join(temporaryFolder(), 'new', 'gateway.json5')
    const text = 'é'.repeat(3_000_000)
    writePrivateFile(file, text)
    expect(readFileSync(file, 'utf8')).toBe(text)
    expect(statSync(file).mode & 0o777).toBe(0o600)
  })
})
