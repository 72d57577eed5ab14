// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.registry;

import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Completed;
import io.thalamus.hal.Request;
import io.thalamus.hal.SyncFence;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import io.thalamus.model.Timing;
import io.thalamus.runtime.call.Answer;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.PendingCall;
import io.thalamus.runtime.schedule.Contender;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Executions of which each waits for the one before, by a fence that its device is given. Used by
 * the one thread that executes; the devices go on in threads of their own. Used once.
 *
 * <pre>
 * thread that executes   permit 0, launch 0 1 2   .   .   .   .   .   .   results
 * call of device 0       executes --- permit 1, signals
 * call of device 1       waits for the fence ----- executes --- permit 2, signals
 * call of device 2       waits for the fence ------------------ executes --- ends the chain
 * </pre>
 *
 * <p>All calls are made at once. When a device is done, its own call takes the permit of the next
 * device, if that is free, and signals the fence. A permit that must be waited for is waited for in
 * the thread that executes: no device waits for another in a thread of its own. That thread also
 * watches whichever call is next to end.
 *
 * <p>If a call fails, the fences behind it fail too. All calls have ended, or were given up, when
 * {@link #run} returns.
 */
public final class FencedChain {
  private static final long LOOK_MILLIS = 20;

  private final ExecutionConfig config;
  private final Contender contender;
  private final List<Link> links = new ArrayList<>();
  private final Object lock = new Object();

  /** An empty chain of an execution with these settings. */
  public FencedChain(ExecutionConfig config) {
    this.config = config;
    this.contender = Turns.contender(config);
  }

  /**
   * A listener for the moments at which a device could begin with a link, and is done: in the
   * thread of any call.
   */
  public interface Progress {
    /**
     * The device could begin: it holds its permit.
     *
     * @param now the time by its clock
     */
    void begins(long now);

    /**
     * The device is done, with whatever result.
     *
     * @param now the time by its clock
     */
    void ends(long now);
  }

  private enum Stage {
    /** The one before is not done. */
    WAITING,
    /** The one before is done; the thread that executes gets the permit. */
    UNPERMITTED,
    /** The device executes, and the permit is held. */
    RUNNING,
    /** It never gets to execute: the one before has failed. */
    CANCELLED,
    /** There is an answer. */
    ENDED
  }

  /** One execution. Its control is that of the chain, which does not pause before it runs. */
  public final class Link implements ExecutionControl {
    private final DevicePreparedModel model;
    private final Request request;
    private final Progress progress;
    private final int index = links.size();
    private final SyncFence fence;
    private PendingCall<ExecutionResult> call;

    /** Under the lock, as all below. */
    private volatile Stage stage = Stage.WAITING;

    private Answer<ExecutionResult> answer;
    private boolean hasReturned;
    private boolean isGivenUp;
    private boolean isUnruly;
    private long startNanos;
    private Timing launched = Timing.NONE;

    private Link(DevicePreparedModel model, Request request, boolean isFenced, Progress progress) {
      this.model = model;
      this.request = request;
      this.progress = progress;
      this.fence = isFenced ? new SyncFence() : null;
    }

    Request request() {
      return request;
    }

    /** Returns what its device waits for; null where it begins at once. */
    SyncFence fence() {
      return fence;
    }

    void launched(Timing timing) {
      synchronized (lock) {
        launched = timing;
      }
    }

    /** Returns the answer; null if an earlier link failed. Asked after the run, as all below. */
    public Answer<ExecutionResult> answer() {
      return stage == Stage.CANCELLED ? null : answer;
    }

    /** Returns the timing from the launch on, as its device measured it. */
    public Timing launched() {
      return launched;
    }

    /** Returns whether its device executed before its fence signalled, or though that failed. */
    public boolean isUnruly() {
      return isUnruly;
    }

    /** Returns whether its device was given up, and may still write. */
    public boolean isAbandoned() {
      return isGivenUp;
    }

    @Override
    public Signal checkpoint() {
      return stage == Stage.RUNNING ? config.control().checkpoint() : status();
    }

    @Override
    public Signal status() {
      return config.control().status();
    }

    @Override
    public boolean isPauseWanted() {
      return stage == Stage.RUNNING && config.control().isPauseWanted();
    }

    @Override
    public Optional<Priority> executionPriority() {
      return config.control().executionPriority();
    }

    @Override
    public void spentOnOthers(long nanos) {
      if (stage == Stage.RUNNING) {
        config.control().spentOnOthers(nanos);
      }
    }

    /** The device has answered; in the thread of its call. */
    void answered(Answer<ExecutionResult> given) {
      long now = now();
      synchronized (lock) {
        if (isGivenUp) {
          return;
        }
        hasReturned = true;
        ended(given, now);
        // The thread that executes sleeps on as long as it has nothing to do.
        if (index == links.size() - 1 || !isDone(answer)) {
          lock.notifyAll();
        }
      }
      next();
    }

    /** Takes an answer, unless there is one; under the lock. */
    private void ended(Answer<ExecutionResult> given, long now) {
      Answer<ExecutionResult> kept = given;
      switch (stage) {
        case RUNNING -> {
          progress.ends(now);
          if (given instanceof Answered) {
            model.measured(now - startNanos - Turns.pauses(config).pausedNanos(now));
          }
          kept = Turns.end(model.device(), contender, given);
          release();
          stage = Stage.ENDED;
        }
        case WAITING, UNPERMITTED -> {
          // A deadline ends the wait for a fence too.
          isUnruly = isDone(given);
          kept =
              isUnruly
                  ? new Answer.Failed<>(
                      ErrorStatus.GENERAL_FAILURE, "it did not wait for its fence", null)
                  : given;
          stage = Stage.ENDED;
        }
        case CANCELLED -> isUnruly = isDone(given);
        case ENDED -> {
          return;
        }
      }
      answer = kept;
    }

    /** Returns the time, which nobody asks for under the lock. */
    private long now() {
      return model.device().time().nanoTime();
    }

    private void release() {
      if (contender != null) {
        model.device().schedule().release(contender);
      }
    }

    /** Has the next one begin, or fail; once this one has an answer. */
    private void next() {
      Link next;
      boolean isReady;
      synchronized (lock) {
        next = index + 1 < links.size() ? links.get(index + 1) : null;
        isReady = stage == Stage.ENDED && isDone(answer);
      }
      if (next != null && isReady) {
        next.ready();
      } else if (next != null) {
        next.cancel();
      }
    }

    /** Called when its dependency is done: it begins if a permit is free. Waits for nothing. */
    private void ready() {
      long now = now();
      synchronized (lock) {
        if (stage != Stage.WAITING) {
          return;
        }
        if (contender != null && !model.device().schedule().tryAcquire(contender, true)) {
          stage = Stage.UNPERMITTED;
          lock.notifyAll();
          return;
        }
        runs(now);
      }
      signal();
    }

    /** It holds its permit; under the lock. */
    private void runs(long now) {
      stage = Stage.RUNNING;
      startNanos = now;
      progress.begins(now);
      begin(now);
    }

    /** Has the limit of its call count, as far as that is made; under the lock. */
    private void begin(long now) {
      if (call != null && stage != Stage.WAITING) {
        call.begin(now);
      }
    }

    /**
     * Makes its call; returns why not, or null. The limit of the first one, which runs already,
     * counts from before its call.
     */
    private Answer<ExecutionResult> launch() {
      PendingCall<ExecutionResult> made = model.launch(this, config);
      if (made.refusal() == null) {
        synchronized (lock) {
          call = made;
          begin(startNanos);
        }
      }
      return made.refusal();
    }

    private void signal() {
      if (fence != null) {
        fence.signal();
      }
    }

    /** Called when its dependency has failed. */
    private void cancel() {
      long now = now();
      synchronized (lock) {
        if (stage != Stage.WAITING) {
          return;
        }
        stage = Stage.CANCELLED;
        begin(now);
      }
      fence.fail(DeviceException.failure("the execution before it failed"));
    }

    /** Waits for the permit that was not free; in the thread that executes. */
    private void await() {
      Answer<ExecutionResult> refusal = Turns.begin(model.device(), contender, true);
      boolean runs;
      long now = now();
      synchronized (lock) {
        boolean isWanted = stage == Stage.UNPERMITTED;
        runs = isWanted && refusal == null;
        if (runs) {
          runs(now);
        } else if (isWanted) {
          answer = refusal;
          stage = Stage.ENDED;
          begin(now);
        } else if (refusal == null) {
          release();
        }
      }
      if (runs) {
        signal();
      } else {
        fence.fail(DeviceException.failure("it got no permit"));
      }
    }

    /** Watches the call, and gives it up. */
    private void look() {
      Answer<ExecutionResult> abandoned = call.look();
      if (abandoned == null) {
        return;
      }
      long now = now();
      synchronized (lock) {
        if (hasReturned) {
          return;
        }
        isGivenUp = true;
        ended(abandoned, now);
      }
      next();
    }

    private boolean isOver() {
      return hasReturned || isGivenUp;
    }
  }

  private static boolean isDone(Answer<ExecutionResult> answer) {
    return answer instanceof Answered<ExecutionResult>(ExecutionResult result)
        && result instanceof Completed;
  }

  /**
   * Adds an execution that begins when the one before is done; the first begins at once.
   *
   * @param request whose buffers are in shared memory, and whose outputs have known sizes
   */
  public Link add(DevicePreparedModel model, Request request, Progress progress) {
    Link link = new Link(model, request, !links.isEmpty(), progress);
    links.add(link);
    return link;
  }

  /**
   * Executes all, and waits for them. The later ones are left out from the first one on whose
   * device is not called at the moment.
   *
   * @return how many were launched; the first counts, with its refusal as the answer
   */
  public int run() {
    Link first = links.getFirst();
    Answer<ExecutionResult> refusal =
        first.model.device().supervisor().refusal(first.model.admission());
    if (refusal == null) {
      refusal = Turns.begin(first.model.device(), contender, true);
    }
    if (refusal != null) {
      first.answer = refusal;
      first.stage = Stage.ENDED;
      first.hasReturned = true;
      return 1;
    }
    // The waiting ones first: whoever ends finds the next.
    for (int i = 1; i < links.size(); i++) {
      if (links.get(i).launch() != null) {
        synchronized (lock) {
          links.subList(i, links.size()).clear();
        }
      }
    }
    long now = first.now();
    synchronized (lock) {
      first.runs(now);
    }
    refusal = first.launch();
    if (refusal != null) {
      first.answered(refusal);
    }
    await();
    return links.size();
  }

  private void await() {
    boolean isInterrupted = false;
    while (true) {
      Link current = null;
      synchronized (lock) {
        for (int i = 0; i < links.size() && current == null; i++) {
          current = links.get(i).isOver() ? null : links.get(i);
        }
        if (current == null) {
          break;
        }
        if (current.stage != Stage.UNPERMITTED) {
          try {
            lock.wait(LOOK_MILLIS);
          } catch (InterruptedException e) {
            // A call is not interruptible; the caller may look at its flag afterwards.
            isInterrupted = true;
          }
        }
      }
      if (current.stage == Stage.UNPERMITTED) {
        current.await();
      } else if (!current.isOver()) {
        current.look();
      }
    }
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
