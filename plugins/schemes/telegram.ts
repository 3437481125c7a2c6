// The scheme of Telegram's webhooks: the secret that `setWebhook` was given.
import { defineScheme } from 'svc-gateway/plugin'

export default defineScheme({
  name: 'telegram',
  description: 'Webhooks of a Telegram bot.',
  tokens: [{ header: 'x-telegram-bot-api-secret-token' }],
})
