// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.burst.packet.ControlPage;
import io.thalamus.burst.packet.Datums;
import io.thalamus.burst.packet.RequestEncoder;
import io.thalamus.burst.packet.ResultDecoder;
import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.hal.BurstCallback;
import io.thalamus.hal.BurstConfig;
import io.thalamus.hal.BurstConfig.Protocol;
import io.thalamus.hal.BurstConfig.Version2;
import io.thalamus.hal.BurstContext;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionControl;
import io.thalamus.hal.ExecutionControl.Signal;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.ExecutionResult.Failed;
import io.thalamus.hal.QueueDescriptor;
import io.thalamus.hal.Request;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.model.ErrorStatus;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;

/**
 * The belongings of a burst's client: both queues, the control page, the slots of memories, a
 * record for each request that can be under way, and the server, which it closes. Thread-safe as
 * {@link BurstClient} says. It knows nothing of its client, so that a forgotten one can be noticed.
 *
 * <p>A server in the same process finds it behind the callback of its config. If it adopts the
 * server, the thread that receives a result takes the server's turn: the packets are written,
 * checked and counted as ever, and handed over without the queues, which no other thread reads.
 */
final class BurstChannel implements BurstClient, BurstCallback {
  /**
   * The first sleep of the client before it looks whether the server is still there, and whether it
   * is to stop; it doubles each time.
   */
  private static final long FIRST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(1);

  private static final long LONGEST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

  private static final Failed GONE =
      new Failed(
          ErrorStatus.DEVICE_UNAVAILABLE, "the server of the burst is gone: open another burst");
  private static final Failed MISSED =
      new Failed(ErrorStatus.MISSED_DEADLINE_TRANSIENT, "the deadline passed during the execution");
  private static final Failed MALFORMED =
      new Failed(
          ErrorStatus.GENERAL_FAILURE, "the server of the burst answered with a malformed packet");

  private final MessageQueue requests;
  private final MessageQueue results;
  private final SharedMemory pageMemory;
  private final ControlPage page;
  private final MemorySlots slots = new MemorySlots(this::releaseLeaving);
  private final long pollNanos;
  private final int version;
  private final Consumer<BurstChannel> onClose;
  private final boolean isServedByDriver;
  private final boolean isServedByCaller;
  private final Sent[] records;
  private final ResultDecoder decoder;
  private final Datums packet = new Datums();

  /** Held while a request is sent, so that closing unmaps nothing in use. */
  private final ReentrantLock sending = new ReentrantLock();

  /** Held while a result is received; the same lock if that is when the request is executed. */
  private final ReentrantLock receiving;

  /** Numbers of the last request sent and of the last result received. */
  private final AtomicLong sent = new AtomicLong();

  private final AtomicLong received = new AtomicLong();

  /** The time of others that was reported already. Used by whoever receives. */
  private long othersNanos;

  private long elementsSent;
  private long elementsReceived;
  private BurstContext server;

  /** The server if threads that receive serve; otherwise null. */
  private BurstServer adopted;

  private boolean isClockShared;

  /** Null until everything is closed. */
  private volatile BurstStatistics last;

  private volatile boolean isGone;
  private final AtomicBoolean closed = new AtomicBoolean();

  /** A request that was sent, and the packet that says it. */
  private static final class Sent {
    private final RequestEncoder encoder;

    /** Null where the packet says none. */
    private Request request;

    private ExecutionControl control = ExecutionControl.NONE;

    /** The last word of the control. */
    private Signal signal = Signal.CONTINUE;

    private MemorySlots.Slot[] slots = new MemorySlots.Slot[0];

    /** True while it uses the memories in its slots. */
    private boolean usesSlots;

    /** The numbers in the packet. */
    private int[] numbers = new int[0];

    Sent(RequestEncoder encoder) {
      this.encoder = encoder;
    }

    void resize(int pools) {
      if (slots.length != pools) {
        slots = new MemorySlots.Slot[pools];
        numbers = new int[pools];
      }
    }

    /** Returns whether the memories of a request are those that it uses. */
    boolean hasSlots(Request wanted) {
      if (!usesSlots || request != wanted) {
        return false;
      }
      for (MemorySlots.Slot slot : slots) {
        if (slot != null && slot.isLeaving()) {
          return false;
        }
      }
      return true;
    }

    /** Returns whether the packet says this request. */
    boolean says(Request wanted) {
      boolean isSame = request == wanted;
      for (int i = 0; i < slots.length; i++) {
        int number = slots[i] == null ? -1 : slots[i].number();
        isSame &= numbers[i] == number;
        numbers[i] = number;
      }
      return isSame;
    }
  }

  /** The way to a server. */
  @FunctionalInterface
  interface Connector {
    BurstContext connect(BurstConfig config) throws DeviceException;
  }

  /**
   * Allocates what a burst needs; {@link #connect} finds a server for it.
   *
   * @param onClose called once when everything is given back
   * @throws io.thalamus.memory.SharedMemoryException if there is no memory for it
   */
  BurstChannel(
      BurstSettings settings,
      int version,
      boolean isServedByDriver,
      Consumer<BurstChannel> onClose) {
    this.version = version;
    this.isServedByDriver = isServedByDriver;
    this.onClose = onClose;
    this.pollNanos = settings.pollWindow().toNanos();
    this.decoder = new ResultDecoder(version);
    // In version 1 all that is in a queue is one packet.
    this.records = new Sent[version == 1 ? 1 : Math.min(settings.depth(), ControlPage.MAX_DEPTH)];
    this.isServedByCaller = settings.isServedByCaller() && records.length == 1;
    this.receiving = isServedByCaller ? sending : new ReentrantLock();
    for (int i = 0; i < records.length; i++) {
      records[i] = new Sent(new RequestEncoder(version));
    }
    this.requests = MessageQueue.allocate(settings.queueLength(), Datums.SIZE);
    this.results = MessageQueue.allocate(settings.queueLength(), Datums.SIZE);
    this.pageMemory = SharedMemory.allocate(MemoryKind.ASHMEM, ControlPage.SIZE);
    this.page = ControlPage.of(pageMemory);
  }

  /** Has a server serve this side; what it throws is thrown. */
  void connect(BurstSettings settings, Connector connector) throws DeviceException {
    Protocol protocol =
        version == 1 ? Protocol.HAL_1_2 : new Version2(pageMemory, settings.buffers());
    long before = System.nanoTime();
    server =
        connector.connect(
            new BurstConfig(
                this, channel(requests), channel(results), protocol, settings.pollWindow()));
    isClockShared = page.isClockShared(before);
    slots.open(server);
  }

  /**
   * Takes a server that was set up for this side, unless it needs a thread of its own: as one does
   * that reads other queues, with somebody between it and this side. Called while this side
   * connects.
   */
  boolean adopt(BurstServer found, BurstConfig config) {
    if (!isServedByCaller
        || adopted != null
        || config.requestChannel().memory() != requests.memory()
        || config.resultChannel().memory() != results.memory()) {
      return false;
    }
    adopted = found;
    return true;
  }

  @Override
  public List<SharedMemory> getMemories(int[] numbers) throws DeviceException {
    return slots.getMemories(numbers);
  }

  private static QueueDescriptor channel(MessageQueue queue) {
    return new QueueDescriptor(queue.memory(), queue.capacity(), queue.elementSize());
  }

  @Override
  public boolean send(Request request, ExecutionConfig config) {
    // First without the lock: of a burst that callers serve it is held during an execution.
    if (underWay() == records.length) {
      return false;
    }
    sending.lock();
    try {
      return !isBroken() && underWay() < records.length && sendNow(request, config);
    } catch (IllegalStateException e) {
      damaged(e);
      return false;
    } finally {
      sending.unlock();
    }
  }

  private boolean sendNow(Request request, ExecutionConfig config) {
    long number = sent.getPlain() + 1;
    Sent record = record(number);
    if (!record.hasSlots(request)) {
      release(record);
      record.resize(request.pools().size());
      if (!slots.use(request, record.slots)) {
        return false;
      }
      record.usesSlots = true;
    }
    record.control = config.control();
    record.signal = Signal.CONTINUE;
    if (!record.says(request)) {
      record.request = record.encoder.encode(request, record.numbers) ? request : null;
    }
    if (record.request == null
        || !record.encoder.encode(config, isClockShared)
        || !write(record.encoder.packet(), number)) {
      release(record);
      return false;
    }
    return true;
  }

  /** Ends the use of the memories of a request. */
  private void release(Sent record) {
    if (record.usesSlots) {
      record.usesSlots = false;
      slots.release(record.slots);
    }
  }

  /**
   * Releases what only the last request uses, if something of it is to be freed and nothing is
   * executed. The executing thread looks again after it has released the lock, so that one of the
   * two threads does it.
   */
  private void releaseLeaving() {
    if (adopted != null && sending.tryLock()) {
      try {
        if (underWay() == 0) {
          release(records[0]);
        }
      } finally {
        sending.unlock();
      }
    }
  }

  private void lookForLeaving() {
    if (slots.areLeaving()) {
      releaseLeaving();
    }
  }

  private Sent record(long number) {
    // A division takes longer than much of what is around it.
    return records.length == 1 ? records[0] : records[(int) (number % records.length)];
  }

  private boolean write(Datums datums, long number) {
    int count = datums.count();
    if (adopted != null) {
      if (count > requests.capacity()) {
        return false;
      }
      sent.setRelease(number);
      return true;
    }
    if (!requests.beginWrite(count)) {
      return false;
    }
    page.setRequestEnd(number, elementsSent + count);
    // Before the write, as the result may be there before this thread goes on. Release: the thread
    // that receives it sees the record.
    sent.setRelease(number);
    elementsSent += count;
    return requests.write(datums.segment(), count);
  }

  @Override
  public ExecutionResult receive(long timeoutNanos) {
    receiving.lock();
    try {
      return underWay() == 0 ? null : adopted != null ? serve() : receiveNext(timeoutNanos);
    } catch (IllegalStateException e) {
      damaged(e);
      return finish(GONE);
    } finally {
      receiving.unlock();
      lookForLeaving();
    }
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    if (adopted == null || underWay() > 0) {
      return null;
    }
    sending.lock();
    try {
      return !isBroken() && underWay() == 0 && sendNow(request, config) ? serve() : null;
    } finally {
      sending.unlock();
      lookForLeaving();
    }
  }

  /** Has the adopted server execute the request that was sent. */
  private ExecutionResult serve() {
    Sent record = records[0];
    ExecutionResult result = adopted.serve(record.encoder.packet(), record.control, decoder);
    isGone |= result == null;
    tellOthers(record);
    return finish(result == null ? GONE : result);
  }

  private ExecutionResult receiveNext(long timeoutNanos) {
    long start = 0;
    long left = timeoutNanos;
    long poll = pollNanos;
    long look = FIRST_LOOK_NANOS;
    while (!isGone) {
      // Looked at before the queue: what was written before the end is received.
      boolean hasEnded = closed.get() || hasServerEnded();
      // An answer that is there, or comes soon, needs no look at the clock.
      if (results.awaitReadable(1, 0, 0)) {
        read();
        if (packet.count() > 0) {
          tellOthers(record(received.getPlain() + 1));
          ExecutionResult result = decoder.decode(packet);
          return finish(result == null ? MALFORMED : result);
        }
      } else if (hasEnded) {
        isGone = true;
      } else if (left <= 0) {
        return null;
      } else {
        start = start == 0 ? System.nanoTime() : start;
        if (!results.awaitReadable(1, poll, Math.min(left, look))) {
          ask();
        }
        left = timeoutNanos - (System.nanoTime() - start);
        poll = 0;
        look = Math.min(2 * look, LONGEST_LOOK_NANOS);
      }
    }
    return finish(GONE);
  }

  /** Tells a request, which is the oldest, for how long its device has worked on others. */
  private void tellOthers(Sent record) {
    long others = page.othersNanos();
    if (others != othersNanos) {
      record.control.spentOnOthers(others - othersNanos);
      othersNanos = others;
    }
  }

  /**
   * Asks the control of the oldest request; a device that is elsewhere stands back meanwhile. No
   * checkpoint is passed unless it pauses, since this thread, whose processor a control may share,
   * computes nothing.
   */
  private void ask() {
    long number = received.getPlain() + 1;
    Sent record = record(number);
    tellOthers(record);
    if (record.signal != Signal.CONTINUE) {
      return;
    }
    page.setStandBack(true);
    try {
      ExecutionControl control = record.control;
      record.signal = control.isPauseWanted() ? control.checkpoint() : control.status();
    } finally {
      page.setStandBack(false);
    }
    if (record.signal != Signal.CONTINUE) {
      page.cancel(number);
    }
  }

  /** Reads a packet; an end of the server at its end is taken off. */
  private void read() {
    int available = results.availableToRead();
    long number = received.getPlain() + 1;
    packet.resize(page.resultLength(number, elementsReceived, available));
    results.read(packet.segment(), packet.count());
    elementsReceived += packet.count();
    if (ResultDecoder.isEnd(packet)) {
      isGone = true;
      packet.resize(packet.count() - 1);
    }
  }

  /** Ends the oldest request. */
  private ExecutionResult finish(ExecutionResult result) {
    long number = received.getPlain() + 1;
    Sent record = record(number);
    // The device was asked to stop, which ends with GENERAL_FAILURE, and not why.
    boolean isMissed =
        record.signal == Signal.DEADLINE && result.status() == ErrorStatus.GENERAL_FAILURE;
    if (adopted == null) {
      // Where the caller serves, the next request is likely to use them too.
      release(record);
    }
    // Release: the thread that sends next sees that the record is free.
    received.setRelease(number);
    return isMissed ? MISSED : result;
  }

  private void damaged(IllegalStateException e) {
    isGone = true;
    if (!closed.get()) {
      BurstServer.log().log(Level.WARNING, "a burst cannot go on, since its queue is damaged", e);
    }
  }

  @Override
  public void cancel() {
    try {
      // Of two readings the later one may be ahead: then nothing is cancelled.
      long oldest = received.get() + 1;
      if (oldest <= sent.get()) {
        page.cancel(oldest);
      }
    } catch (IllegalStateException e) {
      // Closed meanwhile, which cancels as well.
      BurstServer.log().log(Level.DEBUG, "a closed burst is cancelled", e);
    }
  }

  @Override
  public long checkpoints() {
    try {
      return page.checkpoints();
    } catch (IllegalStateException e) {
      // Closed meanwhile: nothing is under way.
      return 0;
    }
  }

  @Override
  public int underWay() {
    // The received first: it never passes the other.
    long ended = received.getAcquire();
    return (int) (sent.getAcquire() - ended);
  }

  @Override
  public void freeMemory(SharedMemory memory) {
    slots.free(memory);
  }

  @Override
  public boolean isServedByDriver() {
    return isServedByDriver;
  }

  @Override
  public boolean isServedByCaller() {
    return adopted != null;
  }

  @Override
  public boolean isBroken() {
    return isGone || closed.get() || hasServerEnded();
  }

  private boolean hasServerEnded() {
    try {
      return page.hasEnded();
    } catch (IllegalStateException e) {
      // Closed meanwhile, and unmapped.
      return true;
    }
  }

  @Override
  public BurstStatistics statistics() {
    BurstStatistics end = last;
    if (end != null) {
      return end;
    }
    try {
      BurstContext own = adopted != null ? adopted : server;
      return own instanceof BurstServer here ? here.statistics() : page.statistics();
    } catch (IllegalStateException e) {
      // The server has ended and unmapped its page; the count in that of the client stays.
      return page.statistics();
    }
  }

  @Override
  public void close() {
    if (!closed.compareAndSet(false, true)) {
      return;
    }
    requests.interrupt();
    results.interrupt();
    page.cancel(Long.MAX_VALUE);
    try {
      if (server != null) {
        server.close();
      }
    } catch (RuntimeException e) {
      BurstServer.log().log(Level.WARNING, "the server of a burst failed to end", e);
    }
    sending.lock();
    receiving.lock();
    try {
      last = statistics();
      slots.close();
      requests.close();
      results.close();
      pageMemory.close();
    } finally {
      receiving.unlock();
      sending.unlock();
    }
    onClose.accept(this);
  }
}
