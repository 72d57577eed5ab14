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
import java.util.concurrent.Executor;
import java.util.concurrent.RejectedExecutionException;
import java.util.function.Consumer;

/**
 * The only way to call the driver of one device. Thread-safe.
 *
 * <p>Calls with a limit are made in threads of the runtime, and their callers wait no longer than
 * that. A call that was given up before its limit, because its caller was cancelled or had a
 * deadline, is looked at again when the limit is reached: a device that is slow is legal, one that
 * never answers is not.
 *
 * <p>Calls are counted, so that a departure can wait for them. Anything that a driver throws
 * becomes an {@link Answer}; no exception of it reaches a caller.
 */
public final class Supervisor {
  private static final Failed<?> LOST =
      new Failed<>(ErrorStatus.GENERAL_FAILURE, "it broke, and nothing is known of how", null);

  private final Executor threads;
  private final Timekeeper time;
  private final String origin;
  private final InFlight inFlight;
  private final Set<GuardedCall<?>> calls = ConcurrentHashMap.newKeySet();
  private volatile Consumer<String> onHang = call -> {};
  private volatile String suspension = "";
  private volatile boolean doesNotClose;

  /** Creates a supervisor of a driver, which uses threads and clock that others own. */
  public Supervisor(Device driver, Executor threads, Timekeeper time) {
    this.threads = threads;
    this.time = time;
    this.origin = origin(driver);
    this.inFlight = new InFlight(driver, time);
  }

  /**
   * A call of the driver.
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
    Answer<T> refusal = refusal(terms.admission());
    if (refusal != null) {
      return refusal;
    }
    if (!inFlight.enter(terms.admission())) {
      return left();
    }
    Device driver = inFlight.driver();
    if (driver == null && terms.admission() != Admission.ALWAYS) {
      inFlight.exit();
      return left();
    }
    if (terms.limit().isEmpty()) {
      ExecutionControl control = terms.control().until(inFlight::hasLeft, Signal.CANCELLED);
      // As ask does, which would be one more frame below every kernel.
      try {
        return new Answered<>(work.ask(driver, control));
      } catch (Throwable e) {
        return failed(e);
      } finally {
        inFlight.exit();
      }
    }
    GuardedCall<T> call = new GuardedCall<>(terms, time.nanoTime(), time, late);
    call.setWork(() -> ask(work, driver, control(call, terms)));
    if (!start(call, terms.admission())) {
      return busy();
    }
    Answer<T> answer = call.await();
    if (answer instanceof Abandoned<T> abandoned) {
      abandoned(call, abandoned.why());
    }
    return answer;
  }

  /**
   * Makes a call that its caller does not wait for here.
   *
   * @param terms with a limit, which counts from {@link PendingCall#begin} on
   * @param done gets the answer of the driver, in the thread of the call, before the call ends; it
   *     must be short
   */
  public <T> PendingCall<T> launch(Terms terms, Work<T> work, Consumer<Answer<T>> done) {
    Answer<T> refusal = refusal(terms.admission());
    if (refusal == null && !inFlight.enter(terms.admission())) {
      refusal = left();
    }
    if (refusal != null) {
      return new PendingCall<>(refusal);
    }
    Device driver = inFlight.driver();
    GuardedCall<T> call = new GuardedCall<>(terms, time.nanoTime(), time, late -> {});
    call.hold();
    call.setWork(
        () -> {
          Answer<T> answer = ask(work, driver, control(call, terms));
          done.accept(answer);
          return answer;
        });
    return start(call, terms.admission())
        ? new PendingCall<>(call, this)
        : new PendingCall<>(busy());
  }

  private static ExecutionControl control(GuardedCall<?> call, Terms terms) {
    return terms.control().until(call::isAbandoned, Signal.CANCELLED);
  }

  private static <T> Answer<T> busy() {
    return new Refused<>(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, Cause.DEVICE_BUSY.message());
  }

  /** Has a thread make a call; returns false where none is free, and the call has ended. */
  private boolean start(GuardedCall<?> call, Admission admission) {
    calls.add(call);
    if (!start(call)) {
      return false;
    }
    if (inFlight.hasLeft() && admission != Admission.ALWAYS) {
      call.abandon(Abandonment.LEFT);
    }
    return true;
  }

  /** Learns that a call was given up. */
  void abandoned(GuardedCall<?> call, Abandonment why) {
    inFlight.recount();
    switch (why) {
      case HUNG -> onHang.accept(call.name());
      case DEADLINE, CANCELLED -> time.after(call.left(), () -> lookAgain(call));
      case LEFT, LOST -> {
        // There is nothing more to learn of the device.
      }
    }
  }

  /**
   * Sends a device a request, and waits for the answer in the thread of the caller. It is watched
   * as calls are: if it is given up, a thread of the runtime waits on.
   *
   * @return null if the request could not be sent, so that nothing has happened
   */
  public <T> Answer<T> exchange(Exchange<T> exchange) {
    if (!inFlight.enter(Admission.UNTIL_DEPARTURE)) {
      return left();
    }
    GuardedExchange<T> call = null;
    try {
      if (!exchange.send()) {
        return null;
      }
      // Nearly all are answered here: nothing but this is paid for the watch.
      T value = exchange.receive(GuardedCall.LOOK_NANOS);
      if (value != null) {
        return new Answered<>(value);
      }
      if (exchange.terms().limit().isEmpty()) {
        return new Answered<>(await(exchange));
      }
      call = new GuardedExchange<>(exchange, time);
    } finally {
      if (call == null) {
        inFlight.exit();
      }
    }
    return await(call, exchange);
  }

  /** Waits for as long as it takes. */
  private static <T> T await(Exchange<T> exchange) {
    boolean interrupted = false;
    boolean isStopping = false;
    T value;
    do {
      if (!isStopping && exchange.terms().control().status() != Signal.CONTINUE) {
        isStopping = true;
        exchange.cancel();
      }
      // A wait ends at once while the flag is set.
      interrupted |= Thread.interrupted();
      value = exchange.receive(GuardedCall.LOOK_NANOS);
    } while (value == null);
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
    return value;
  }

  private <T> Answer<T> await(GuardedExchange<T> call, Exchange<T> exchange) {
    calls.add(call);
    if (inFlight.hasLeft()) {
      call.abandon(Abandonment.LEFT);
    }
    Answer<T> answer = call.await();
    if (!(answer instanceof Abandoned<T> abandoned)) {
      finish(call);
      return answer;
    }
    exchange.abandoned();
    if (!start(call)) {
      exchange.ended();
    }
    abandoned(call, abandoned.why());
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

  /** Returns why the driver is not called: it is in quarantine, and this is work; else null. */
  public <T> Answer<T> refusal(Admission admission) {
    String why = suspension;
    return admission != Admission.WHILE_SERVING || why.isEmpty() || isLeaving()
        ? null
        : new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it is in quarantine: " + why);
  }

  /** Refuses work from now on for this reason, which is said of it; an empty one ends that. */
  public void suspend(String reason) {
    suspension = reason;
  }

  /** Returns why work is refused; empty when it is not. */
  public String suspension() {
    return suspension;
  }

  private static <T> Answer<T> left() {
    return new Refused<>(ErrorStatus.DEVICE_UNAVAILABLE, "it has left");
  }

  /**
   * Has a thread make a call, and end it when its caller has the answer: a departure must not take
   * an answer for one that never came. Ends it at once and returns false where no thread is free.
   */
  private boolean start(GuardedCall<?> call) {
    try {
      threads.execute(
          () -> {
            try {
              call.run();
            } finally {
              finish(call);
            }
          });
      return true;
    } catch (RejectedExecutionException | OutOfMemoryError e) {
      // The latter where the system gives no thread.
      finish(call);
      return false;
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

  /** Asks the driver, and makes an answer of whatever it throws. */
  public static <T> Answer<T> ask(Work<T> work, Device driver, ExecutionControl control) {
    try {
      return new Answered<>(work.ask(driver, control));
    } catch (Throwable e) {
      return failed(e);
    }
  }

  /**
   * Returns the answer for what a driver has thrown: besides the exception of the HAL, a missing
   * class or method, an assertion, a stack that overflows, InternalError when a page of mapped
   * memory cannot be read, or what the compiler of another language lets pass undeclared. Errors
   * that belong to the virtual machine are no exception: they have unwound the driver's frames, and
   * nothing of the runtime's own state. Nothing stops threads from outside: since Java 20
   * ThreadDeath comes from a driver, or from nowhere.
   */
  private static <T> Answer<T> failed(Throwable thrown) {
    return switch (thrown) {
      case DeviceException e -> {
        // A driver that throws what is no failure contradicts itself; that is its failure.
        boolean isFailure =
            e.status() != ErrorStatus.NONE && e.status() != ErrorStatus.OUTPUT_INSUFFICIENT_SIZE;
        yield new Failed<>(
            isFailure ? e.status() : ErrorStatus.GENERAL_FAILURE,
            String.valueOf(e.getMessage()),
            e);
      }
      case OutOfMemoryError e ->
          new Failed<>(ErrorStatus.RESOURCE_EXHAUSTED_TRANSIENT, "it ran out of memory: " + e, e);
      default -> new Failed<>(ErrorStatus.GENERAL_FAILURE, "it broke: " + thrown, thrown);
    };
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
   * Waits as {@link #await} does, forgets the driver, and has the callers go on without an answer,
   * except those that give something back to it: a departure waits for these.
   *
   * @return how many calls still run
   */
  public int leave(long end) {
    int left = inFlight.leave(end, this::stuck);
    calls.stream()
        .filter(call -> call.admission() != Admission.ALWAYS)
        .forEach(call -> call.abandon(Abandonment.LEFT));
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
    return Bundles.of(driver)
        .map(
            bundle ->
                "%s %s [%d]"
                    .formatted(bundle.getSymbolicName(), bundle.getVersion(), bundle.getBundleId()))
        .orElseGet(() -> String.valueOf(driver.getClass().getClassLoader()));
  }
}
