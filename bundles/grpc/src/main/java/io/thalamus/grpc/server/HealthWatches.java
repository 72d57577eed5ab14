// SPDX-License-Identifier: Apache-2.0
package io.thalamus.grpc.server;

import io.grpc.Metadata;
import io.grpc.ServerCall;
import io.grpc.Status;
import io.thalamus.grpc.wire.MessageReader;
import io.thalamus.grpc.wire.MessageWriter;
import io.thalamus.grpc.wire.Reply;
import java.io.IOException;
import java.io.InputStream;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The open calls of {@code Watch} in gRPC's own health protocol: each receives the health of a
 * service, and again when it has changed. Thread-safe.
 */
final class HealthWatches {
  private final Descriptions descriptions;
  private final Set<Watch> open = ConcurrentHashMap.newKeySet();

  HealthWatches(Descriptions descriptions) {
    this.descriptions = descriptions;
  }

  /** Begins a call. */
  ServerCall.Listener<InputStream> begin(ServerCall<InputStream, Reply> call) {
    return new Watch(call);
  }

  /** Tells what has changed since it was called last. */
  void look() {
    open.forEach(Watch::tell);
  }

  /** Tells what has changed, and ends all of them. */
  void stop() {
    look();
    open.forEach(watch -> watch.end(Status.UNAVAILABLE.withDescription("the server ends")));
  }

  private final class Watch extends ServerCall.Listener<InputStream> {
    private final ServerCall<InputStream, Reply> call;

    // Under its own lock.
    private String service;
    private int reported = -1;
    private boolean isEnded;

    Watch(ServerCall<InputStream, Reply> call) {
      this.call = call;
      call.request(1);
    }

    @Override
    public void onMessage(InputStream message) {
      try {
        String name = new MessageReader(message).onlyText();
        synchronized (this) {
          service = name;
        }
        call.sendHeaders(new Metadata());
        open.add(this);
        tell();
      } catch (IOException e) {
        end(Failures.status(Failures.unreadable(e)));
      }
    }

    @Override
    public synchronized void onHalfClose() {
      if (service == null) {
        end(Status.INVALID_ARGUMENT.withDescription("the call has no message"));
      }
    }

    @Override
    public void onCancel() {
      open.remove(this);
    }

    private synchronized void tell() {
      int now = descriptions.health(service);
      if (now != reported && !isEnded && !call.isCancelled()) {
        reported = now;
        call.sendMessage(Reply.of(new MessageWriter().integer(1, now)));
      }
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
