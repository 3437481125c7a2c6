// The memory limit of a child process.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readResidentMb } from '../../../core/sandbox/pool/limits.ts'

describe('the resident memory of a process', () => {
  it('is read in units that do not depend on the page size', () => {
    const status = 'Name:\tnode\nVmHWM:\t  999999 kB\nVmRSS:\t   65536 kB\nRssAnon:\t   40960 kB\n'
    expect(readResidentMb(status)).toBe(64)
    // A process that has ended uses no memory.
    expect(readResidentMb('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0)
  })

  it('matches what Node reports for this process', () => {
    const used = readResidentMb(readFileSync('/proc/self/status', 'latin1'))
    expect(Math.abs(used - process.memoryUsage.rss() / 1_048_576)).toBeLessThan(32)
  })
})
