// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.burst.packet.Datums;
import io.thalamus.burst.packet.ResultDecoder;
import io.thalamus.burst.packet.ResultEncoder;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryException;
import io.thalamus.model.Deadline;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Priority;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;

/**
 * The side of a burst that reads requests, executes them and writes results: NNAPI's
 * ExecutionBurstServer. Thread-safe. One thread at a time serves: either one of its own from {@link
 * #start} to the end, or in turns those that call {@link #serve}. The last of them gives back all
 * that the server holds, so that nothing is unmapped while it is used.
 *
 * <p>A request is one atomic write to the queue. In version 1 all elements that are there are one
 * packet, as in AOSP: its clients send the next after they have received a result. In version 2 the
 * control page says where each packet ends; where it does not, the rule of version 1 holds. So the
 * length in a packet is only checked and never trusted, and the packet behind a malformed one is
 * found.
 */
final class BurstServer implements BurstContext {
  /** The time that closing waits for an execution that stops at no checkpoint. */
  private static final Duration PATIENCE = Duration.ofSeconds(5);

  /** The sleep of a device that stands back between two looks. */
  private static final long STAND_BACK_NANOS = 20_000;

  /** Elements of a queue at most: a packet may be as long, and is copied. */
  private static final int LONGEST_QUEUE = 1 << 20;

  private final MessageQueue requests;
  private final MessageQueue results;
  private final ControlPage page;
  private final SharedMemory.Lease pageLease;
  private final long pollNanos;
  private final RequestRunner runner;
  private final Consumer<BurstServer> onEnd;
  private final ResultEncoder encoder;
  private final Datums packet = new Datums();
  private final Control control;
  private final String name;
  private final CountDownLatch ended = new CountDownLatch(1);

  /** The thread that serves; null while none does. At the end it is not given back. */
  private final AtomicReference<Thread> turn = new AtomicReference<>();

  /** Null unless the server has a thread of its own. Written before another thread sees this. */
  private Thread listener;

  private long elementsRead;
  private long elementsWritten;
  private volatile boolean closing;

  private BurstServer(
      BurstConfig config,
      BurstExecutor executor,
      MessageQueue requests,
      MessageQueue results,
      String name,
      Consumer<BurstServer> onEnd) {
    this.requests = requests;
    this.results = results;
    this.onEnd = onEnd;
    this.pollNanos = config.pollWindow().toNanos();
    int version = config.protocol() instanceof Version2 ? 2 : 1;
    if (config.protocol() instanceof Version2 v2) {
      this.page = ControlPage.of(v2.control());
      this.pageLease = v2.control().lend();
    } else {
      this.page = ControlPage.unshared();
      this.pageLease = null;
    }
    this.control = new Control();
    this.runner = new RequestRunner(config, executor, page, version, control);
    this.encoder = new ResultEncoder(version);
    this.name = name;
  }

  /**
   * Returns a server that has all it needs and serves when it is called, or from {@link #start} on.
   *
   * @param name of its thread, if it gets one
   * @param onEnd called when the server has given back all that it held
   * @throws DeviceException with INVALID_ARGUMENT where the channels or the page are none,
   *     GENERAL_FAILURE where they cannot be mapped
   */
  static BurstServer prepare(
      BurstConfig config, BurstExecutor executor, String name, Consumer<BurstServer> onEnd)
      throws DeviceException {
    MessageQueue requests = map(config.requestChannel(), "requests");
    MessageQueue results = null;
    BurstServer server = null;
    try {
      results = map(config.resultChannel(), "results");
      server = new BurstServer(config, executor, requests, results, name, onEnd);
      server.page.stampClock();
      return server;
    } catch (IllegalArgumentException e) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, e.getMessage(), e);
    } catch (IllegalStateException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    } finally {
      if (server == null) {
        requests.close();
        if (results != null) {
          results.close();
        }
      }
    }
  }

  /**
   * Begins to serve in a thread of its own.
   *
   * @throws DeviceException with GENERAL_FAILURE where there is no thread for it; then nothing is
   *     left
   */
  void start() throws DeviceException {
    listener = Thread.ofPlatform().name(name).daemon().unstarted(this::run);
    turn.set(listener);
    try {
      listener.start();
    } catch (OutOfMemoryError e) {
      end();
      throw new DeviceException(
          ErrorStatus.GENERAL_FAILURE, "no thread for a burst: " + e.getMessage(), e);
    }
  }

  private static MessageQueue map(QueueDescriptor channel, String what) throws DeviceException {
    if (channel.elementSize() != Datums.SIZE
        || channel.capacity() < ResultEncoder.SHORTEST
        || channel.capacity() > LONGEST_QUEUE) {
      throw DeviceException.invalid(
          "the queue of %s has %d elements of %d bytes: a burst needs %d to %d elements of %d"
              .formatted(
                  what,
                  channel.capacity(),
                  channel.elementSize(),
                  ResultEncoder.SHORTEST,
                  LONGEST_QUEUE,
                  Datums.SIZE));
    }
    try {
      return MessageQueue.map(channel.memory(), channel.capacity(), channel.elementSize());
    } catch (IllegalArgumentException e) {
      throw new DeviceException(ErrorStatus.INVALID_ARGUMENT, e.getMessage(), e);
    } catch (SharedMemoryException | IllegalStateException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, e.getMessage(), e);
    }
  }

  private void run() {
    try {
      while (!closing) {
        if (requests.awaitReadable(1, pollNanos, Long.MAX_VALUE)) {
          serveNext();
        }
      }
    } catch (IllegalStateException e) {
      damaged(e);
    } finally {
      end();
    }
  }

  private static void damaged(IllegalStateException e) {
    log().log(Level.WARNING, "a burst ends, since its queue is damaged: {0}", e.getMessage());
  }

  /**
   * Answers a packet in the thread of the caller, who hands it over instead of writing it to the
   * queue.
   *
   * @param caller asked at checkpoints too
   * @param decoder reads the packet of the result while nobody else can write another one
   * @return null where the server has ended, or was closed meanwhile
   */
  ExecutionResult serve(Datums request, ExecutionControl caller, ResultDecoder decoder) {
    if (!turn.compareAndSet(null, Thread.currentThread())) {
      return null;
    }
    try {
      control.caller = caller;
      ExecutionResult result = decoder.decode(answer(request, page.countPacket()));
      return closing ? null : result;
    } finally {
      control.caller = ExecutionControl.NONE;
      turn.set(null);
      if (closing) {
        endUnlessServed();
      }
    }
  }

  private void endUnlessServed() {
    if (turn.compareAndSet(null, Thread.currentThread())) {
      end();
    }
  }

  /** Reads one packet and answers it. */
  private void serveNext() {
    int available = requests.availableToRead();
    long number = page.countPacket();
    packet.resize(page.requestLength(number, elementsRead, available));
    requests.read(packet.segment(), packet.count());
    elementsRead += packet.count();
    Datums answer = answer(packet, number);
    if (closing) {
      // The server may have cancelled what its client did not: that one sees the end instead.
      return;
    }
    int count = answer.count();
    if (results.awaitWritable(count, pollNanos, Long.MAX_VALUE)) {
      elementsWritten += count;
      page.setResultEnd(number, elementsWritten);
      results.write(answer.segment(), count);
    }
  }

  /** Executes a packet, and returns that of the result. */
  private Datums answer(Datums request, long number) {
    control.number = number;
    ExecutionResult result = runner.run(request);
    control.deadline = Deadline.NONE;
    encoder.encode(result);
    if (encoder.packet().count() > results.capacity()) {
      encoder.encode(ErrorStatus.GENERAL_FAILURE);
    }
    return encoder.packet();
  }

  /** Lets go of everything, and has the client see it. Called once, by the thread that serves. */
  private void end() {
    closing = true;
    try {
      encoder.encodeEnd();
      if (results.availableToWrite() > 0) {
        results.write(encoder.packet().segment(), 1);
      }
    } catch (IllegalStateException e) {
      log().log(Level.DEBUG, "the end of a burst cannot be written: {0}", e.getMessage());
    }
    page.end();
    runner.close();
    requests.close();
    results.close();
    if (pageLease != null) {
      pageLease.close();
    }
    onEnd.accept(this);
    ended.countDown();
  }

  /** Returns what was done until now. */
  BurstStatistics statistics() {
    return page.statistics();
  }

  @Override
  public void freeMemory(int slot) {
    runner.freeMemory(slot);
  }

  /**
   * Ends the service: what is under way stops at its next checkpoint. Waits for the thread that
   * serves, but not for an execution that does not stop: the service ends when that does.
   */
  @Override
  public void close() {
    closing = true;
    requests.interrupt();
    results.interrupt();
    endUnlessServed();
    if (turn.get() == Thread.currentThread()) {
      return;
    }
    try {
      if (!awaitEnd()) {
        log()
            .log(
                Level.WARNING,
                "{0} is still executing {1} s after it was closed; it ends when that does",
                name,
                PATIENCE.toSeconds());
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private boolean awaitEnd() throws InterruptedException {
    return listener != null
        ? listener.join(PATIENCE)
        : ended.await(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
  }

  /** The control that a device asks while it executes a request. */
  final class Control implements ExecutionControl {
    /** Of the request that is executed. Written by the thread that then calls the device. */
    private long number;

    private Deadline deadline = Deadline.NONE;

    /** The control of the caller whose thread serves. */
    private ExecutionControl caller = ExecutionControl.NONE;

    void begin(ExecutionConfig config) {
      deadline = config.deadline();
    }

    @Override
    public Signal checkpoint() {
      Signal signal = ask(caller.checkpoint());
      while (signal == Signal.CONTINUE && page.isStandBack()) {
        LockSupport.parkNanos(STAND_BACK_NANOS);
        signal = status();
      }
      return signal;
    }

    @Override
    public Signal status() {
      return ask(caller.status());
    }

    @Override
    public boolean isPauseWanted() {
      return page.isStandBack() || caller.isPauseWanted();
    }

    @Override
    public Optional<Priority> executionPriority() {
      return caller.executionPriority();
    }

    @Override
    public void spentOnOthers(long nanos) {
      page.countOthers(nanos);
    }

    private Signal ask(Signal wish) {
      if (turn.getPlain() == Thread.currentThread()) {
        // Helpers of the device would only contend for the count.
        page.countCheckpoint();
      }
      if (closing || page.isCancelled(number)) {
        return Signal.CANCELLED;
      }
      if (wish != Signal.CONTINUE) {
        return wish;
      }
      return deadline.hasPassed() ? Signal.DEADLINE : Signal.CONTINUE;
    }
  }

  /** Returns the log of the package, which costs time to find: only where something is said. */
  static System.Logger log() {
    return System.getLogger(BurstServer.class.getPackageName());
  }
}
