import { useQuery } from '@tanstack/react-query';
import { Fragment, useState } from 'react';
import { waitingConversationsQuery } from '../api/queries.js';
import type { WaitingConversation } from '../api/resources.js';
import { timerText } from '../time/time-text.js';
import { useNow } from '../time/use-now.js';
import { Button } from '../ui/button.js';
import { Card } from '../ui/card.js';
import { LoadingRows } from '../ui/loading-card.js';
import { EmptyState } from '../ui/notice.js';
import { ChatLink } from './chat-link.js';
import { StageBadge } from './stage-badge.js';
import './waiting-list.css';

const SHOWN = 10;

/** The chats that wait for an agent, longest wait first. */
export function WaitingList({ orgId }: { readonly orgId: string }) {
  const { data: waiting, error, refetch } = useQuery(waitingConversationsQuery(orgId));
  const [showsAll, setShowsAll] = useState(false);
  const shown = showsAll ? waiting?.data : waiting?.data.slice(0, SHOWN);
  return (
    <Card title="Waiting now" note={waiting && countText(waiting.waiting, waiting.data.length)} flush>
      {waiting === undefined ? (
        <LoadingRows error={error} onRetry={() => void refetch()} rows={4} rowHeight="3.5rem" hasHead={false} />
      ) : waiting.data.length === 0 ? (
        <EmptyState icon="check" title="No chat is waiting">
          Chats that the AI hands to a human appear here until an agent takes them.
        </EmptyState>
      ) : (
        <>
          <WaitingChats chats={shown ?? []} />
          {waiting.data.length > SHOWN && (
            <div className="chats-foot">
              <Button onClick={() => setShowsAll(!showsAll)}>
                {showsAll ? `Show ${SHOWN}` : `Show all ${waiting.data.length}`}
              </Button>
            </div>
          )}
        </>
      )}
    </Card>
  );
}

/** Chats that wait, each with its timer. */
export function WaitingChats({ chats }: { readonly chats: readonly WaitingConversation[] }) {
  const now = useNow(1_000);
  return (
    <ul className="chats">
      {chats.map((chat) => (
        <WaitingChat key={chat.conversation_id} chat={chat} now={now} />
      ))}
    </ul>
  );
}

function WaitingChat({ chat, now }: { readonly chat: WaitingConversation; readonly now: number }) {
  const place = [chat.visitor_name, chat.department?.name, chat.widget?.name].filter(
    (part) => typeof part === 'string',
  );
  return (
    <li className="chat">
      <span className={`chat-timer numeric chat-timer-${chat.stage}`} title={`since ${chat.waiting_since}`}>
        {timerText((now - new Date(chat.waiting_since).getTime()) / 1_000)}
      </span>
      <div className="chat-text">
        <p className="truncate" title={chat.subject}>
          <ChatLink chat={chat} />
        </p>
        <p className="truncate muted chat-place">
          {place.map((part, index) => (
            <Fragment key={index}>
              {index > 0 && ' · '}
              <bdi>{part}</bdi>
            </Fragment>
          ))}
        </p>
      </div>
      <StageBadge stage={chat.stage} />
    </li>
  );
}

function countText(waiting: number, listed: number): string {
  const chats = waiting === 1 ? '1 chat' : `${waiting} chats`;
  return listed < waiting ? `${chats}, the longest ${listed} are listed` : chats;
}
