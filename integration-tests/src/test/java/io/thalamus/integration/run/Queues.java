// SPDX-License-Identifier: Apache-2.0
package io.thalamus.integration.run;

import io.thalamus.burst.queue.MessageQueue;
import io.thalamus.integration.proof.Figures;
import io.thalamus.integration.proof.Settings;
import io.thalamus.memory.EventFlag;
import io.thalamus.memory.MemoryKind;
import io.thalamus.memory.SharedMemory;
import io.thalamus.memory.SharedMemoryHandle;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;

/**
 * Numbered messages with checksums through queues, between two threads and between two processes,
 * with readers and writers that poll and with those that sleep. None may be lost, doubled or torn.
 */
final class Queues implements Proof {
  private static final long FOREVER = Long.MAX_VALUE;

  /** The queue of those that sleep is short, so that both sides do. */
  private static final int SHORT = 2;

  private static final int LONG = 1024;

  @Override
  public String name() {
    return "queues";
  }

  @Override
  public String purpose() {
    return "messages between threads and between processes (--spin 1000000000 --sleep 10000000)";
  }

  @Override
  public void run(Settings settings, Figures figures) throws Exception {
    long spin = settings.number("spin", 1_000_000_000);
    long sleep = settings.number("sleep", 10_000_000);
    settings.end();
    figures.figure("waiting", EventFlag.implementation());
    threads("threads.spinning", new QueueTraffic(spin, FOREVER), LONG, figures);
    processes("processes.spinning", new QueueTraffic(spin, FOREVER), LONG, figures);
    threads("threads.sleeping", new QueueTraffic(sleep, 0), SHORT, figures);
    processes("processes.sleeping", new QueueTraffic(sleep, 0), SHORT, figures);
  }

  private static void threads(String name, QueueTraffic traffic, int capacity, Figures figures)
      throws Exception {
    try (MessageQueue writer = MessageQueue.allocate(capacity, QueueTraffic.MESSAGE_SIZE);
        MessageQueue reader =
            MessageQueue.map(writer.memory(), capacity, QueueTraffic.MESSAGE_SIZE)) {
      FutureTask<QueueTraffic.Received> received = new FutureTask<>(() -> traffic.read(reader));
      Thread.ofPlatform().daemon().name("reader").start(received);
      long start = System.nanoTime();
      long waits = traffic.write(writer);
      tell(name, traffic, received.get(), waits, System.nanoTime() - start, figures);
    }
  }

  private static void processes(String name, QueueTraffic traffic, int capacity, Figures figures)
      throws Exception {
    try (MessageQueue writer = MessageQueue.allocate(capacity, QueueTraffic.MESSAGE_SIZE)) {
      Process child =
          new ProcessBuilder(
                  Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                  "--enable-native-access=ALL-UNNAMED",
                  "-XX:+UseSerialGC",
                  "-cp",
                  System.getProperty("java.class.path"),
                  Reader.class.getName(),
                  writer.memory().describe().file().toString(),
                  Long.toString(writer.memory().size()),
                  Integer.toString(capacity),
                  Long.toString(traffic.messages()),
                  Long.toString(traffic.pollNanos()))
              .redirectErrorStream(true)
              .start();
      long start = System.nanoTime();
      long waits = traffic.write(writer);
      String answer = new String(child.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      long nanos = System.nanoTime() - start;
      if (!child.waitFor(1, TimeUnit.MINUTES) || child.exitValue() != 0) {
        child.destroyForcibly();
        throw new IllegalStateException("the reading process failed: " + answer);
      }
      tell(name, traffic, QueueTraffic.Received.parse(answer), waits, nanos, figures);
    }
  }

  private static void tell(
      String name,
      QueueTraffic traffic,
      QueueTraffic.Received received,
      long writerWaits,
      long nanos,
      Figures figures) {
    figures.figure(name + ".messages", traffic.messages());
    figures.decimal(name + ".seconds", nanos / 1e9);
    figures.decimal(name + ".nanosPerMessage", (double) nanos / traffic.messages());
    figures.figure(name + ".readerWaits", received.waits());
    figures.figure(name + ".writerWaits", writerWaits);
    figures.decimal(name + ".longestWaitMillis", received.longestWaitNanos() / 1e6);
    figures.figure(name + ".lost", received.lost());
    figures.figure(name + ".doubled", received.doubled());
    figures.figure(name + ".torn", received.torn());
    figures.promise(
        name + ": every message comes once, whole and in order",
        received.lost() + received.doubled() + received.torn() == 0
            && received.messages() == traffic.messages());
    figures.promise(
        name + ": every sleeper is woken",
        received.longestWaitNanos() < QueueTraffic.PATIENCE_NANOS);
  }

  /** The reading process. */
  static final class Reader {
    private Reader() {}

    /** Reads the queue of the file and prints what came. */
    public static void main(String[] arguments) {
      long size = Long.parseLong(arguments[1]);
      int capacity = Integer.parseInt(arguments[2]);
      SharedMemoryHandle handle =
          new SharedMemoryHandle(MemoryKind.ASHMEM, Path.of(arguments[0]), 0, size, true);
      QueueTraffic traffic =
          new QueueTraffic(Long.parseLong(arguments[3]), Long.parseLong(arguments[4]));
      try (SharedMemory memory = SharedMemory.map(handle);
          MessageQueue queue = MessageQueue.map(memory, capacity, QueueTraffic.MESSAGE_SIZE)) {
        System.out.println(traffic.read(queue).line());
      }
    }
  }
}
