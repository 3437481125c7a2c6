// Keeps the installed packages of a configuration directory while npm changes them, and puts them back.
import { cp, mkdtemp, rename, rm } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { uninstallPackage } from './npm.ts'

export interface SavedPackages extends AsyncDisposable {
  /** Makes everything as it was. */
  restore(): Promise<void>
}

/** What npm changes. */
const paths = ['node_modules', 'package.json', 'package-lock.json']

/** @param plugin without a version: it is not installed, so uninstalling it is enough */
export async function savePackages(
  dir: string,
  { name, version }: { name: string; version: string | undefined },
): Promise<SavedPackages> {
  if (version === undefined)
    return {
      restore: async () => void (await uninstallPackage(dir, name).catch(() => undefined)),
      [Symbol.asyncDispose]: async () => undefined,
    }
  // In the same folder, so that it can be renamed back at once, whatever the registry has by then.
  const saved = await mkdtemp(join(dir, '.packages-before-'))
  const present = paths.filter((path) => existsSync(join(dir, path)))
  for (const path of present) await cp(join(dir, path), join(saved, path), { recursive: true, verbatimSymlinks: true })
  return {
    async restore() {
      for (const path of present) {
        await rename(join(dir, path), join(saved, `${path}.refused`))
        await rename(join(saved, path), join(dir, path))
      }
    },
    [Symbol.asyncDispose]: async () => await rm(saved, { recursive: true, force: true }),
  }
}
