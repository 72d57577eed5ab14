// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.Burst;
import io.thalamus.api.Compilation;
import io.thalamus.api.Execution;
import io.thalamus.api.ExecutionReport;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Subgraph;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;

/**
 * A stream that runs: a ring of frames, each with a thread that executes and delivers it. Frame
 * {@code n} goes the way below in slot {@code n % depth}; each counter is moved on by the one
 * thread whose turn it is, and nothing is allocated on the way.
 *
 * <pre>
 *   delivered        executed          written
 *       |  n - 2  n - 1  |  n            |  n + 1 ...
 *       |  executed, in  |  executes     |  the source writes it, or waits
 *       |  delivery      |               |  for delivered + depth
 * </pre>
 *
 * <p>Only streams with states count {@code executed}: their executions follow each other. Others
 * execute as many frames at once as there are, which wait in the queue of the burst.
 *
 * <p>Thread-safe. Owns threads, burst, frames and states, which are given back when it has ended
 * and its last thread has left.
 */
final class Pipeline<T, R> implements PushEventConsumer<T>, AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Pipeline.class.getPackageName());
  private static final int AVERAGED = 8;

  /** The states of the delivery. */
  private static final int IDLE = 0;

  private static final int BUSY = 1;
  private static final int FINISHED = 2;

  /** Stands for a source that is closed. */
  private static final AutoCloseable CLOSED = () -> {};

  private final Compilation compilation;
  private final FrameCodec<? super T, ? extends R> codec;
  private final PushEventConsumer<? super R> consumer;
  private final Consumer<Pipeline<?, ?>> onEnd;

  /** Null for any time. */
  private final Duration timeout;

  private final Burst burst;
  private final StateTensor[] states;
  private final Frame[] frames;
  private final Thread[] threads;
  private final ReferenceCount uses = new ReferenceCount(this::end);

  /** Held by the thread of the source that hands an event over. */
  private final ReentrantLock input = new ReentrantLock();

  private final AtomicReference<AutoCloseable> source = new AtomicReference<>();
  private final AtomicInteger delivery = new AtomicInteger(IDLE);

  /** The last event for the consumer; once it is here nothing is executed or delivered any more. */
  private final AtomicReference<PushEvent<R>> outcome = new AtomicReference<>();

  private volatile long written;
  private volatile long executed;
  private volatile long delivered;

  /** The event for the consumer when all that was written is delivered. */
  private volatile PushEvent<R> last;

  /** The thread of the source that waits for a frame, or null. */
  private volatile Thread waiting;

  /** The mean time for which a frame keeps the stream busy; 0 if that is not known. */
  private volatile long frameNanos;

  /**
   * The moment at which the last frame was delivered. Used by the one whose turn it is, like the
   * next.
   */
  private long deliveredNanos;

  /** Before this the consumer wants no event. */
  private long notBeforeNanos = System.nanoTime();

  /**
   * Takes what a stream needs.
   *
   * @param onEnd called once, when everything is given back
   */
  Pipeline(
      NeuralNetworks networks,
      Compilation compilation,
      StreamOptions options,
      FrameCodec<? super T, ? extends R> codec,
      PushEventConsumer<? super R> consumer,
      ThreadFactory factory,
      Consumer<Pipeline<?, ?>> onEnd)
      throws NeuralNetworksException {
    this.compilation = compilation;
    this.codec = codec;
    this.consumer = consumer;
    this.onEnd = onEnd;
    this.timeout = options.timeout().orElse(null);
    this.states = new StateTensor[options.states().size()];
    this.frames = new Frame[options.depth()];
    this.threads = new Thread[options.depth()];
    boolean isComplete = false;
    Burst opened = null;
    try {
      Subgraph graph = compilation.model().main();
      for (int i = 0; i < states.length; i++) {
        states[i] = new StateTensor(networks, compilation, options.states().get(i), options);
      }
      for (int i = 0; i < frames.length; i++) {
        frames[i] = new Frame(graph, options);
        int slot = i;
        threads[i] = factory.newThread(() -> run(slot));
      }
      opened = compilation.createBurst(options.burst());
      isComplete = true;
    } catch (SharedMemoryException e) {
      throw new NeuralNetworksException(ResultCode.RESOURCE_EXHAUSTED_TRANSIENT, e.getMessage(), e);
    } catch (IllegalStateException e) {
      throw closedCompilation(e);
    } finally {
      this.burst = opened;
      if (!isComplete) {
        free();
      }
    }
  }

  private static NeuralNetworksException closedCompilation(IllegalStateException cause) {
    return new NeuralNetworksException(
        ResultCode.BAD_STATE, "the compilation is closed: close its streams first", cause);
  }

  /** Starts the threads, then opens the source; does nothing if the stream is closed. */
  void start(PushEventSource<? extends T> from) {
    if (!uses.retain()) {
      return;
    }
    try {
      for (Thread thread : threads) {
        uses.retainUnlessFreed();
        thread.start();
      }
      AutoCloseable opened = Objects.requireNonNull(from.open(this), "a source opens a channel");
      if (!source.compareAndSet(null, opened)) {
        opened.close();
      }
    } catch (Exception e) {
      finish(PushEvent.error(e));
    } finally {
      uses.release();
    }
  }

  /**
   * Takes an event of the source: writes it to a frame, for which it waits if all are under way.
   *
   * @return milliseconds to wait before the next event: about as long as it will take until there
   *     is room for one
   */
  @Override
  public long accept(PushEvent<? extends T> event) {
    if (!uses.retain()) {
      return ABORT;
    }
    try {
      input.lock();
      long pressure;
      try {
        pressure = outcome.get() != null || last != null ? ABORT : take(event);
      } finally {
        input.unlock();
      }
      finishIfDrained();
      return pressure;
    } finally {
      uses.release();
    }
  }

  private long take(PushEvent<? extends T> event) {
    if (event.isTerminal()) {
      last = event.nodata();
      return ABORT;
    }
    try {
      long number = written;
      if (!awaitRoom(number)) {
        return ABORT;
      }
      Frame frame = frames[slot(number)];
      frame.beginWriting(number);
      try {
        codec.write(event.getData(), frame);
      } finally {
        frame.endWriting();
      }
      written = number + 1;
      wake(number);
      return pressure();
    } catch (Exception e) {
      if (e instanceof InterruptedException) {
        Thread.currentThread().interrupt();
      }
      last = PushEvent.error(e);
      return ABORT;
    }
  }

  /** Waits for the slot of a frame; false if the stream has ended. */
  private boolean awaitRoom(long number) throws InterruptedException {
    if (number - delivered < frames.length) {
      return true;
    }
    waiting = Thread.currentThread();
    try {
      while (number - delivered >= frames.length) {
        if (outcome.get() != null) {
          return false;
        }
        if (Thread.interrupted()) {
          throw new InterruptedException("the source was interrupted while it waited for a frame");
        }
        LockSupport.park(this);
      }
      return true;
    } finally {
      waiting = null;
    }
  }

  private long pressure() {
    if (written - delivered < frames.length) {
      return CONTINUE;
    }
    long nanos = frameNanos;
    return nanos == 0 ? 1 : TimeUnit.NANOSECONDS.toMillis(nanos);
  }

  private int slot(long number) {
    return (int) (number % frames.length);
  }

  private void wake(long number) {
    LockSupport.unpark(threads[slot(number)]);
  }

  /** The life of the thread of a slot. */
  private void run(int slot) {
    boolean isOrderly = false;
    try {
      long number = slot;
      while (process(number)) {
        number += frames.length;
      }
      isOrderly = true;
    } finally {
      if (!isOrderly) {
        finish(
            PushEvent.error(
                new IllegalStateException("a thread of the stream broke: see its stack trace")));
      }
      uses.release();
    }
  }

  /** Executes and delivers a frame; false if the stream has ended. */
  private boolean process(long number) {
    Frame frame = frames[slot(number)];
    while (written <= number) {
      if (!pause()) {
        return false;
      }
    }
    if (states.length > 0) {
      while (executed != number) {
        if (!pause()) {
          return false;
        }
      }
      execute(frame);
      executed = number + 1;
      wake(number + 1);
    } else {
      execute(frame);
    }
    while (delivered != number) {
      if (!pause()) {
        return false;
      }
    }
    if (!awaitConsumer() || !deliver(frame)) {
      return false;
    }
    measure(frame);
    delivered = number + 1;
    wake(number + 1);
    wakeSource();
    finishIfDrained();
    return true;
  }

  /** Sleeps until something has changed; false if the stream has ended. */
  private boolean pause() {
    if (outcome.get() != null) {
      return false;
    }
    LockSupport.park(this);
    // Whatever a codec or consumer left behind would make the next pause a busy loop.
    Thread.interrupted();
    return true;
  }

  private void wakeSource() {
    Thread thread = waiting;
    if (thread != null) {
      LockSupport.unpark(thread);
    }
  }

  private void execute(Frame frame) {
    try {
      Execution execution = compilation.createExecution();
      if (timeout != null) {
        execution.setTimeout(timeout);
      }
      frame.bind(execution);
      for (StateTensor state : states) {
        state.bind(execution);
      }
      ExecutionReport report = execution.burstCompute(burst);
      boolean isLost = states.length > 0 && report.code() == ResultCode.DEAD_OBJECT;
      frame.executed(report, isLost);
      if (report.isSuccess()) {
        for (StateTensor state : states) {
          state.advance();
        }
      }
    } catch (IllegalStateException e) {
      frame.failed(closedCompilation(e));
    } catch (RuntimeException e) {
      frame.failed(e);
    }
  }

  /** Waits as long as the consumer asked for; false if the stream has ended. */
  private boolean awaitConsumer() {
    long nanos = notBeforeNanos - System.nanoTime();
    while (nanos > 0 && outcome.get() == null) {
      LockSupport.parkNanos(this, nanos);
      Thread.interrupted();
      nanos = notBeforeNanos - System.nanoTime();
    }
    return outcome.get() == null;
  }

  private boolean deliver(Frame frame) {
    if (!delivery.compareAndSet(IDLE, BUSY)) {
      return false;
    }
    try {
      frame.beginReading();
      R result;
      try {
        result = Objects.requireNonNull(codec.read(frame), "a codec makes a result of each frame");
      } finally {
        frame.endReading();
      }
      long delay = consumer.accept(PushEvent.data(result));
      if (delay < 0) {
        finish(PushEvent.close());
      } else if (delay > 0) {
        notBeforeNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(delay);
      }
    } catch (Exception e) {
      finish(PushEvent.error(e));
    } finally {
      delivery.set(IDLE);
      conclude();
    }
    return outcome.get() == null;
  }

  private void measure(Frame frame) {
    long now = System.nanoTime();
    long since = frame.writtenNanos();
    if (frame.number() > 0 && deliveredNanos - since > 0) {
      since = deliveredNanos;
    }
    deliveredNanos = now;
    long mean = frameNanos;
    frameNanos = mean == 0 ? now - since : mean + (now - since - mean) / AVERAGED;
  }

  private void finishIfDrained() {
    if (last != null && delivered == written) {
      finish(last);
    }
  }

  /** Ends the stream with this event, unless it has ended. */
  private void finish(PushEvent<R> event) {
    if (!outcome.compareAndSet(null, event)) {
      return;
    }
    for (Thread thread : threads) {
      LockSupport.unpark(thread);
    }
    wakeSource();
    conclude();
    closeSource();
    uses.close();
  }

  /** Gives the consumer its last event once, when it is in no other call. */
  private void conclude() {
    PushEvent<R> event = outcome.get();
    if (event == null || !delivery.compareAndSet(IDLE, FINISHED)) {
      return;
    }
    try {
      consumer.accept(event);
    } catch (Exception e) {
      LOG.log(Level.WARNING, "the consumer of a stream failed at its end", e);
    }
  }

  private void closeSource() {
    AutoCloseable opened = source.getAndSet(CLOSED);
    if (opened == null) {
      return;
    }
    try {
      opened.close();
    } catch (Exception e) {
      LOG.log(Level.WARNING, "the source of a stream cannot be closed", e);
    }
  }

  /** Ends the stream: what is under way is not delivered. */
  @Override
  public void close() {
    finish(PushEvent.close());
  }

  /** Waits until its threads have ended, but not for the calling one; false if time is over. */
  boolean join(Duration patience) throws InterruptedException {
    long end = System.nanoTime() + patience.toNanos();
    for (Thread thread : threads) {
      if (thread.isAlive()
          && thread != Thread.currentThread()
          && !thread.join(Duration.ofNanos(Math.max(1, end - System.nanoTime())))) {
        return false;
      }
    }
    return true;
  }

  private void end() {
    free();
    onEnd.accept(this);
  }

  private void free() {
    if (burst != null) {
      burst.close();
    }
    for (StateTensor state : states) {
      if (state != null) {
        state.close();
      }
    }
    for (Frame frame : frames) {
      if (frame != null) {
        frame.close();
      }
    }
  }
}
