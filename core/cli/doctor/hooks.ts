// Checks that configured webhooks are turned on.
import { withConfig } from './subject.ts'

export const checkHooks = withConfig(({ resolved }) => {
  const { enabled, mappings, presets } = resolved.config.hooks
  const number = mappings.length + presets.length
  if (enabled || number === 0) return []
  return [
    {
      id: 'hooks_disabled',
      severity: 'warning',
      where: 'hooks.enabled',
      problem: `Mappings or presets are configured (${number}), but hooks.enabled is false: their requests get 404.`,
      fix: 'Set hooks.enabled to true, and hooks.token to a random token.',
    },
  ]
})
