// A contact form: sends support and sales requests to different agents, and skips spam. Written in plain JavaScript.
import { plainText } from './text/plain-text.js'

const teams = { billing: 'support', bug: 'support', pricing: 'sales' }

export default ({ payload, now }) => {
  const text = plainText(payload.message ?? '')
  if (text === '' || /\b(?:casino|crypto airdrop)\b/i.test(text)) return null
  const topic = String(payload.topic ?? '').toLowerCase()
  const name = plainText(payload.name ?? 'Somebody')
  const email = plainText(payload.email ?? 'no address')
  return {
    name: `Contact form: ${topic || 'other'}`,
    agentId: teams[topic],
    message: `${name} <${email}> wrote on ${now.slice(0, 10)}:\n\n${text}\n\nDraft a reply.`,
  }
}
