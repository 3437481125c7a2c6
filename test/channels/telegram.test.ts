// The Telegram channel with grammY and a double of the Bot API.
import telegram from '../../channels/telegram/index.ts'
import { channelContract } from '../contracts/channel.ts'
import { openTelegram } from '../doubles/telegram.ts'

channelContract(telegram, openTelegram)
