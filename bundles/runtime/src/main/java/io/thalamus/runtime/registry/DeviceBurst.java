// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.burst.BurstClient;
import io.thalamus.burst.BurstService;
import io.thalamus.burst.BurstSettings;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.MemoryPool;
import io.thalamus.hal.Request;
import io.thalamus.memory.Leases;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Abandonment;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Answer.Unanswered;
import io.thalamus.runtime.call.Exchange;
import io.thalamus.runtime.call.Terms;
import io.thalamus.runtime.schedule.Contender;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * A burst on one prepared model. Thread-safe: it takes as many executions at once as its depth.
 * Owned by whoever opened it, who closes it before the model; a departing device closes it too.
 *
 * <p>A burst that breaks is given up with all that is under way in it, and opened anew when the
 * next execution comes.
 */
public final class DeviceBurst implements DeviceResource {
  /** A burst that could not be opened is not tried again before this. */
  private static final long PAUSE_NANOS = Duration.ofSeconds(1).toNanos();

  private final DevicePreparedModel model;
  private final RegisteredDevice device;
  private final Bursts bursts;
  private final BurstSettings settings;
  private final LongConsumer onEnd;

  /** Null while none is open. Written under the lock. */
  private volatile BurstLine line;

  private boolean isClosed;
  private long pauseEnd;
  private volatile String obstacle = "";

  DeviceBurst(
      DevicePreparedModel model, Bursts bursts, BurstSettings settings, LongConsumer onEnd) {
    this.model = model;
    this.device = model.device();
    this.bursts = bursts;
    this.settings = settings;
    this.onEnd = onEnd;
    this.pauseEnd = device.time().nanoTime();
  }

  /** Returns why the last request was not sent, for people. */
  public String obstacle() {
    return obstacle;
  }

  /** Returns whether requests can be sent; opens the burst if it is not open. */
  public boolean isOpen() {
    return usable() != null;
  }

  private BurstLine usable() {
    BurstLine now = line;
    return now != null && !now.isBroken() ? now : reopened();
  }

  private synchronized BurstLine reopened() {
    BurstLine now = line;
    if (now != null && !now.isBroken()) {
      return now;
    }
    if (now != null) {
      line = null;
      end(now);
    }
    if (isClosed) {
      obstacle = "the burst on " + device.id() + " is closed";
      return null;
    }
    if (device.time().nanoTime() - pauseEnd < 0) {
      return null;
    }
    Optional<BurstService> service = bursts.service();
    if (service.isEmpty()) {
      return failed("no service of bursts is here");
    }
    Answer<BurstClient> answer =
        model.openBurst(served -> service.get().open(served, settings), late -> late.close());
    return switch (answer) {
      case Answered<BurstClient>(BurstClient client) -> {
        line = new BurstLine(client, settings.depth());
        yield line;
      }
      case Unanswered<BurstClient> none ->
          failed("no burst can be opened on " + device.id() + ": " + none.message());
    };
  }

  private BurstLine failed(String why) {
    obstacle = why;
    pauseEnd = device.time().nanoTime() + PAUSE_NANOS;
    return null;
  }

  /**
   * Executes as {@link DevicePreparedModel#execute} does.
   *
   * @return null if the request cannot be sent, for the reason that {@link #obstacle} tells:
   *     nothing has happened
   */
  public Answer<ExecutionResult> execute(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    Contender contender = Turns.contender(config);
    Answer<ExecutionResult> refusal = device.supervisor().refusal(model.admission());
    if (refusal == null) {
      // Of several in one line, those behind one that stands back would hold permits for nothing.
      refusal = Turns.begin(device, contender, settings.depth() == 1);
    }
    if (refusal != null) {
      return refusal;
    }
    try {
      return Turns.end(device, contender, executeNow(request, config, buffers));
    } finally {
      if (contender != null) {
        device.schedule().release(contender);
      }
    }
  }

  private Answer<ExecutionResult> executeNow(
      Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
    BurstLine open = usable();
    if (open == null) {
      return device.isLeaving()
          ? new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it has left")
          : null;
    }
    Sending sending = new Sending(open, request, config, buffers);
    Answer<ExecutionResult> answer = device.supervisor().exchange(sending);
    if (answer == null) {
      obstacle =
          open.isBroken()
              ? "the burst on " + device.id() + " broke"
              : "the burst on " + device.id() + " cannot carry the request";
      return null;
    }
    return sending.finished(answer);
  }

  /** Gives up all that is under way, so that the next execution begins with a new burst. */
  private void giveUp(BurstLine broken) {
    broken.giveUp();
    synchronized (this) {
      if (line == broken) {
        line = null;
      }
    }
  }

  private void end(BurstLine old) {
    old.giveUp();
    device.close("a burst", old.client()::close);
    if (old.end()) {
      onEnd.accept(old.client().statistics().packets());
    }
  }

  /** Returns how many requests the server has read that is there now. */
  public long read() {
    BurstLine now = line;
    return now == null ? 0 : now.client().statistics().packets();
  }

  @Override
  public void close() {
    BurstLine last;
    synchronized (this) {
      isClosed = true;
      last = line;
      line = null;
    }
    // A departure waits for it, as for any other call.
    device.supervisor().retain();
    try {
      if (last != null) {
        end(last);
      }
      device.forget(this);
    } finally {
      device.supervisor().release();
    }
  }

  /** One execution. */
  private final class Sending implements Exchange<ExecutionResult> {
    private final BurstLine open;
    private final Request request;
    private final ExecutionConfig config;
    private final List<DeviceMemory> buffers;
    private long number;

    /** The result of what this thread has executed itself; null if another one does. */
    private ExecutionResult here;

    private long startNanos;
    private boolean hasTurn;
    private boolean isLost;

    Sending(BurstLine open, Request request, ExecutionConfig config, List<DeviceMemory> buffers) {
      this.open = open;
      this.request = request;
      this.config = config;
      this.buffers = buffers;
    }

    @Override
    public boolean send() {
      if (device.isGuarded()) {
        startNanos = device.time().nanoTime();
      }
      for (int i = 0; i < buffers.size(); i++) {
        if (buffers.get(i).enter() == null) {
          exit(buffers.subList(0, i));
          return false;
        }
      }
      boolean isSent;
      if (open.client().isServedByCaller()) {
        here = open.execute(request, config);
        isSent = here != null;
      } else {
        number = open.send(request, config);
        isSent = number >= 0;
        hasTurn = isSent && open.isNext(number);
      }
      if (!isSent) {
        exit(buffers);
      }
      return isSent;
    }

    @Override
    public ExecutionResult receive(long timeoutNanos) {
      ExecutionResult result = here != null ? here : open.receive(number, timeoutNanos);
      if (!hasTurn && device.isGuarded() && open.isNext(number)) {
        // It waited for others: the device could not begin before.
        hasTurn = true;
        startNanos = device.time().nanoTime();
      }
      if (result != null && open.isLost(result)) {
        isLost = true;
      }
      return result;
    }

    @Override
    public void cancel() {
      open.cancel(number);
    }

    @Override
    public Terms terms() {
      return model.executionTerms(config, settings.depth());
    }

    @Override
    public long startNanos() {
      return startNanos;
    }

    @Override
    public void abandoned() {
      keep();
      giveUp(open);
    }

    @Override
    public void ended() {
      end(open);
    }

    /** Keeps what the device may still use. */
    private void keep() {
      Leases leases = new Leases();
      for (MemoryPool pool : request.pools()) {
        if (pool instanceof MemoryPool.Shared shared) {
          leases.add(shared.memory());
        }
      }
      open.keepUntilEnd(
          () -> {
            leases.close();
            exit(buffers);
          });
    }

    Answer<ExecutionResult> finished(Answer<ExecutionResult> answer) {
      if (isLost) {
        keep();
        giveUp(open);
        if (open.client().isBroken()) {
          end(open);
        }
        return new Abandoned<>(Abandonment.LOST, Duration.ZERO);
      }
      if (answer instanceof Answered) {
        exit(buffers);
        if (device.isGuarded()) {
          long now = device.time().nanoTime();
          model.measured(now - startNanos - Turns.pauses(config).pausedNanos(now));
        }
      }
      return answer;
    }
  }

  private static void exit(List<DeviceMemory> buffers) {
    for (int i = 0; i < buffers.size(); i++) {
      buffers.get(i).exit();
    }
  }
}
