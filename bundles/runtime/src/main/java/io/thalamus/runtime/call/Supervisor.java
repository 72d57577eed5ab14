// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.call;

import io.thalamus.api.DeviceHealth.StuckCall;
import io.thalamus.hal.Device;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.model.ErrorStatus;
import io.thalamus.runtime.call.Answer.Abandoned;
import io.thalamus.runtime.call.Answer.Answered;
import io.thalamus.runtime.call.Answer.Failed;
import io.thalamus.runtime.call.Answer.Refused;
import io.thalamus.runtime.call.Terms.Admission;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;
import org.osgi.framework.Bundle;
import org.osgi.framework.FrameworkUtil;

/**
 * The only way to call the driver of one device. Thread-safe.
 *
 * <p>Calls with a limit are made in threads of the runtime, and their callers wait no longer than
 * that. A call that was given up before its limit, because its caller was cancelled or had a
 * deadline, is looked at again when the limit is reached: a device that is slow is legal, one that
 * never answers is not.
 *
 * <p>Calls are counted, so that a departure can wait for them. Whatever a driver throws is an
 * {@link Answer}; nothing that it throws reaches a caller.
 */
public final class Supervisor {
  private static final Failed<?> LOST =
      new Failed<>(ErrorStatus.GENERAL_FAILURE, "it broke, and nothing is known of how", null);

  private final CallThreads threads;
  private final Timekeeper time;
  private final String origin;
  private final InFlight inFlight;
  private final Set<GuardedCall<?>> calls = ConcurrentHashMap.newKeySet();
  private volatile Consumer<String> onHang = call -> {};
  private volatile boolean doesNotClose;

  /** Creates a supervisor of a driver, which uses threads and clock that others own. */
  public Supervisor(Device driver, CallThreads threads, Timekeeper time) {
    this.threads = threads;
    this.time = time;
    this.origin = origin(driver);
    this.inFlight = new InFlight(driver, time);
  }

  /**
   * What the driver is asked.
   *
   * @param <T> what it returns
   */
  @FunctionalInterface
  public interface Work<T> {
    /**
     * Asks the driver.
     *
     * @param driver null when it has left, which only calls that are always admitted meet
     * @param control to hand on to the driver: tells it to stop once nobody waits for it
     */
    T ask(Device driver, ExecutionControl control) throws DeviceException;
  }

  /** Sets what learns the names of calls that reach their limit. */
  public void setOnHang(Consumer<String> listener) {
    onHang = listener;
  }

  /** Returns the clock that limits are measured by. */
  public Timekeeper time() {
    return time;
  }

  /**
   * Makes a call and waits for its answer.
   *
   * @param late gets an answer that nobody waits for any more, in the thread of the call
   */
  public <T> Answer<T> call(Terms terms, Work<T> work, Consumer<Answer<T>> late) {
    if (!inFlight.enter(terms.admission())) {
      return left();
    }
    Device driver = inFlight.driver();
    if (driver == null && terms.admission() != Admission.ALWAYS) {
      inFlight.exit();
      return left();
    }
    if (terms.limit().isEmpty()) {
      try {
        return ask(
            work,
            driver,
            () -> inFlight.hasLeft() ? Signal.CANCELLED : terms.control().checkpoint());
      } finally {
        inFlight.exit();
      }
    }
    GuardedCall<T> call = new GuardedCall<>(terms, time, late);
    call.setWork(
        () ->
            ask(
                work,
                driver,
                () -> call.isAbandoned() ? Signal.CANCELLED : terms.control().checkpoint()));
    calls.add(call);
    try {
      threads.execute(() -> run(call));
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // The latter where the system gives no thread.
      finish(call);
      return new Refused<>(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "too many calls wait for devices");
    }
    if (inFlight.hasLeft() && terms.admission() != Admission.ALWAYS) {
      call.abandon(Abandonment.LEFT);
    }
    Answer<T> answer = call.await();
    if (answer instanceof Abandoned<T> abandoned) {
      inFlight.recount();
      switch (abandoned.why()) {
        case HUNG -> onHang.accept(call.name());
        case DEADLINE, CANCELLED -> time.after(call.left(), () -> lookAgain(call));
        case LEFT -> {
          // There is nothing more to learn of the device.
        }
      }
    }
    return answer;
  }

  /**
   * Has the driver close something, in the thread of the caller when there is no other.
   *
   * @param limit as in {@link Terms}
   * @param late gets an answer that nobody waits for any more
   */
  public Answer<Void> close(
      Optional<Duration> limit, Runnable closing, Consumer<Answer<Void>> late) {
    Work<Void> work =
        (driver, control) -> {
          closing.run();
          return null;
        };
    // A driver that did not close once will hardly do so at the next: then nobody waits.
    Optional<Duration> patience = doesNotClose ? limit.map(any -> Duration.ZERO) : limit;
    Answer<Void> answer = call(new Terms("close", Admission.ALWAYS, patience), work, late);
    if (answer instanceof Refused) {
      // It may hold up the caller, which is better than to stay open.
      answer = call(new Terms("close", Admission.ALWAYS, Optional.empty()), work, late);
    }
    if (answer.isHung()) {
      doesNotClose = true;
    }
    return answer;
  }

  private static <T> Answer<T> left() {
    return new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  /**
   * Makes a call, and ends it when its caller has the answer: a departure must not take an answer
   * for one that never came.
   */
  private void run(GuardedCall<?> call) {
    try {
      call.run();
    } finally {
      finish(call);
    }
  }

  private void finish(GuardedCall<?> call) {
    calls.remove(call);
    inFlight.exit();
  }

  private void lookAgain(GuardedCall<?> call) {
    if (call.isStuck()) {
      onHang.accept(call.name());
    }
  }

  /**
   * Asks the driver, and makes an answer of whatever it throws: besides the exception of the HAL, a
   * missing class or method, an assertion, a stack that overflows, or InternalError when a page of
   * mapped memory cannot be read. Errors that belong to the virtual machine are no exception: they
   * have unwound the driver's frames, and nothing of the runtime's own state. Nothing stops threads
   * from outside: since Java 20 ThreadDeath comes from a driver, or from nowhere.
   */
  private static <T> Answer<T> ask(Work<T> work, Device driver, ExecutionControl control) {
    try {
      return new Answered<>(work.ask(driver, control));
    } catch (DeviceException e) {
      return new Failed<>(status(e), String.valueOf(e.getMessage()), e);
    } catch (OutOfMemoryError e) {
      return new Failed<>(
          ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "it ran out of memory: " + e, e);
    } catch (Exception | Error e) {
      // Exception: the compiler of another language may let any of them pass undeclared.
      return new Failed<>(ErrorStatus.GENERAL_FAILURE, "it broke: " + e, e);
    }
  }

  /** A driver that throws a status which is no failure contradicts itself; that is its failure. */
  private static ErrorStatus status(DeviceException e) {
    return e.status() == ErrorStatus.NONE || e.status() == ErrorStatus.OUTPUT_INSUFFICIENT_SIZE
        ? ErrorStatus.GENERAL_FAILURE
        : e.status();
  }

  /** The answer when not even one could be made of what the driver threw. */
  @SuppressWarnings("unchecked") // It has no value.
  static <T> Answer<T> lost() {
    return (Answer<T>) LOST;
  }

  /** Returns whether this supervises the driver, and the driver has not left. */
  public boolean isOf(Device driver) {
    return inFlight.isOf(driver);
  }

  /** Returns whether the device takes only calls that give something back. */
  public boolean isLeaving() {
    return inFlight.isLeaving();
  }

  /** Returns whether the device has left: nobody waits any longer for calls that still run. */
  public boolean hasLeft() {
    return inFlight.hasLeft();
  }

  /** Keeps the device from leaving until {@link #release}, as a call does. */
  public void retain() {
    inFlight.enter(Admission.ALWAYS);
  }

  /** Ends a {@link #retain}. */
  public void release() {
    inFlight.exit();
  }

  /** Refuses calls from now on, but for those that give something back. */
  public void refuse() {
    inFlight.refuse();
  }

  /** Waits until no call runs but stuck ones, or the time is {@code end}. */
  public void await(long end) {
    inFlight.await(end, this::stuck);
  }

  /**
   * Waits as {@link #await} does, forgets the driver, and has all callers go on without an answer.
   *
   * @return how many calls still run
   */
  public int leave(long end) {
    int left = inFlight.leave(end, this::stuck);
    abandon();
    return left;
  }

  /** Has all callers go on without an answer. */
  public void abandon() {
    calls.forEach(call -> call.abandon(Abandonment.LEFT));
  }

  private int stuck() {
    return (int) calls.stream().filter(GuardedCall::isStuck).count();
  }

  /** Returns how many threads of the runtime are in the driver, stuck ones included. */
  public int size() {
    return calls.size();
  }

  /** Returns the calls that nobody waits for and that have not returned. */
  public List<StuckCall> stuckCalls() {
    List<StuckCall> stuck = new ArrayList<>();
    for (GuardedCall<?> call : calls) {
      if (call.isStuck()) {
        stuck.add(new StuckCall(call.threadName(), call.name(), origin, call.age()));
      }
    }
    return stuck;
  }

  /** Returns the class loader of a driver, for people: by its bundle where it has one. */
  private static String origin(Object driver) {
    Bundle bundle = FrameworkUtil.getBundle(driver.getClass());
    return bundle == null
        ? String.valueOf(driver.getClass().getClassLoader())
        : "%s %s [%d]"
            .formatted(bundle.getSymbolicName(), bundle.getVersion(), bundle.getBundleId());
  }
}
