// Reads the configuration that defines the transforms directory. Without a file, the defaults apply.
import { resolve } from 'node:path'
import { locateConfig } from '../../config/file/locate.ts'
import { type ConfigDocument, readConfigFile, readConfigText } from '../../config/file/read.ts'
import { resolveConfig } from '../../config/resolve.ts'
import { type Extensions, loadExtensions } from '../../loader/registry.ts'

interface TransformConfig extends Pick<ReturnType<typeof resolveConfig>, 'config' | 'dir'> {
  extensions: Extensions
}

/** @param option the value of `--config` */
export async function readTransformConfig(option: string | undefined): Promise<TransformConfig> {
  const document = readDocument(option)
  const extensions = await loadExtensions(document)
  extensions.close()
  return { ...resolveConfig(document, extensions), extensions }
}

/** The transforms are then in ./transforms. */
function readDocument(option: string | undefined): ConfigDocument {
  const file = locateConfig({ option })
  if (file !== undefined) return readConfigFile(file)
  return readConfigText({ file: resolve('gateway.json5'), text: '{}', mode: 0o600, env: process.env })
}
