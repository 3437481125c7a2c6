// What a transform's process is held to.
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readResidentMb } from '../../../core/sandbox/pool/child.ts'

describe('the memory that a process uses', () => {
  it('is read in units that do not depend on the size of a page', () => {
    const status = 'Name:\tnode\nVmHWM:\t  999999 kB\nVmRSS:\t   65536 kB\nRssAnon:\t   40960 kB\n'
    expect(readResidentMb(status)).toBe(64)
    // A process that has ended has no memory any more.
    expect(readResidentMb('Name:\tnode\nState:\tZ (zombie)\n')).toBe(0)
  })

  it('is what the kernel says of this process', () => {
    const used = readResidentMb(readFileSync('/proc/self/status', 'latin1'))
    expect(Math.abs(used - process.memoryUsage.rss() / 1_048_576)).toBeLessThan(32)
  })
})
