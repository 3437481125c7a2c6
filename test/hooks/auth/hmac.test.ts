// HMAC from one-shot hashes equals Node's own.
import { createHmac as createNodeHmac } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createHmac } from '../../../core/hooks/auth/hmac.ts'

describe.each(['sha1', 'sha256', 'sha512'] as const)('an HMAC with %s', (algorithm) => {
  const bytes = (length: number) => Buffer.from(Array.from({ length }, (_, index) => (index * 31 + length) & 255))

  it("equals Node's, for secrets shorter and longer than a block", () => {
    for (const secret of [0, 1, 20, 63, 64, 65, 127, 128, 129, 300].map(bytes)) {
      const sign = createHmac(algorithm, secret)
      for (const text of [0, 1, 64, 2048, 70_000].map(bytes)) {
        for (const encoding of ['hex', 'base64'] as const)
          expect(sign(text, encoding)).toBe(createNodeHmac(algorithm, secret).update(text).digest(encoding))
      }
    }
  })
})
