// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.reflection.Reflection;
import io.thalamus.grpc.wire.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** The open calls of {@code ServerReflectionInfo}. Thread-safe. */
final class ReflectionCalls {
  private final Set<Call> open = ConcurrentHashMap.newKeySet();
  private Reflection reflection;

  /** Returns the definitions, which are read when somebody asks first. */
  private synchronized Reflection reflection() {
    if (reflection == null) {
      reflection = new Reflection();
    }
    return reflection;
  }

  /** Begins a call. */
  ServerCall.Listener<InputStream> begin(ServerCall<InputStream, Reply> call) {
    return new Call(call);
  }

  /** Ends all of them. */
  void stop() {
    open.forEach(call -> call.end(Status.UNAVAILABLE.withDescription("the server ends")));
  }

  private final class Call extends ServerCall.Listener<InputStream> {
    private final ServerCall<InputStream, Reply> call;

    // Under its own lock.
    private boolean isOwed;
    private boolean isEnded;

    Call(ServerCall<InputStream, Reply> call) {
      this.call = call;
      open.add(this);
      call.sendHeaders(new Metadata());
      call.request(1);
    }

    @Override
    public void onMessage(InputStream message) {
      try {
        answer(Reply.of(reflection().answer(message)));
      } catch (IOException e) {
        end(Failures.status(Failures.unreadable(e)));
      }
    }

    private synchronized void answer(Reply reply) {
      if (!isEnded && !call.isCancelled()) {
        call.sendMessage(reply);
        isOwed = true;
        onReady();
      }
    }

    /** Asks for the next question once the client has read enough. */
    @Override
    public synchronized void onReady() {
      if (isOwed && !isEnded && call.isReady()) {
        isOwed = false;
        call.request(1);
      }
    }

    @Override
    public void onHalfClose() {
      end(Status.OK);
    }

    @Override
    public void onCancel() {
      open.remove(this);
    }

    private synchronized void end(Status status) {
      open.remove(this);
      if (!isEnded) {
        isEnded = true;
        Calls.close(call, status, new Metadata());
      }
    }
  }
}
