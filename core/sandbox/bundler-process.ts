// The program of the bundler's process: bundles the transforms that the gateway names, until the gateway ends it.
import { bundleTransform } from './bundle.ts'
import type { BundleReply, BundleRequest } from './bundler.ts'
import { TransformError } from './transform-error.ts'
import { fingerprint, openTransformsDirectory } from './transforms-directory.ts'

async function bundle({ root, dir, module }: BundleRequest): Promise<BundleReply> {
  const seen = new Map<string, string>()
  const onFile = (path: string): void => void seen.set(path, seen.get(path) ?? fingerprint(path))
  try {
    const bundle = await bundleTransform({ module, directory: openTransformsDirectory({ root, dir }), onFile })
    return { bundle, seen: [...seen] }
  } catch (error) {
    const { message } = error as Error
    return { fault: error instanceof TransformError ? error.fault : 'compile', message, seen: [...seen] }
  }
}

process.on('message', (request: BundleRequest) => {
  void bundle(request).then((reply) => process.send?.(reply))
})
