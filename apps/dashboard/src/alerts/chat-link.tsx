import type { RaisedAlert, WaitingConversation } from '../api/resources.js';
import { isWebUrl } from './web-url.js';

type Chat = Pick<RaisedAlert | WaitingConversation, 'conversation_id' | 'subject' | 'url'>;

/** A chat in the agents' dashboard. Its visitor may choose the subject. Without one, the id names the chat. */
export function ChatLink({ chat: { conversation_id: id, subject, url } }: { readonly chat: Chat }) {
  const text = <bdi>{subject.trim() === '' ? id : subject}</bdi>;
  if (!isWebUrl(url)) return text;
  return (
    <a href={url} target="_blank" rel="noreferrer">
      {text}
    </a>
  );
}
