// What every transform must do: run in the sandbox, and turn sample requests into results that its hook accepts.
import { afterAll, beforeAll, describe, it } from 'vitest'
import { createTransformChecks, type TransformCase } from './transform-checks.ts'

export type { TransformCase, TransformSample } from './transform-checks.ts'

/** @param file path or URL of the module, for example `new URL('transforms/disk-space.ts', import.meta.url)` */
export function transformContract(file: string | URL, transform: TransformCase): void {
  const { checks, open, close } = createTransformChecks(file, transform)

  describe(`transform ${String(file).replace(/^.*[\\/]/, '')}`, () => {
    beforeAll(open)
    afterAll(close)
    it.each(checks)('$name', ({ run }) => run())
  })
}
