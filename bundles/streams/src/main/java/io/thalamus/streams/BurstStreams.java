// SPDX-License-Identifier: Apache-2.0
package io.thalamus.streams;

import io.thalamus.api.Compilation;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.ResultCode;
import java.lang.System.Logger.Level;
import java.time.Duration;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ServiceScope;
import org.osgi.util.pushstream.PushEvent;
import org.osgi.util.pushstream.PushEventConsumer;
import org.osgi.util.pushstream.PushEventSource;
import org.osgi.util.pushstream.PushStream;
import org.osgi.util.pushstream.PushStreamProvider;

/**
 * Bursts as push streams. An OSGi service of scope BUNDLE, whose streams end when the bundle lets
 * it go; who has {@link NeuralNetworks} without OSGi services makes one of its own, and closes it.
 *
 * <p>Thread-safe. A stream starts nothing before its terminal operation: then it opens a burst, as
 * many threads as its depth, and the source. It gives all of them back when it ends.
 */
@Component(service = BurstStreams.class, scope = ServiceScope.BUNDLE)
public final class BurstStreams implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(BurstStreams.class.getPackageName());
  private static final Duration PATIENCE = Duration.ofSeconds(10);
  private static final int CALLBACK_THREADS = 4;
  private static final long KEEP_SECONDS = 1;

  private final NeuralNetworks networks;
  private final PushStreamProvider provider = new PushStreamProvider();
  private final Set<Pipeline<?, ?>> pipelines = ConcurrentHashMap.newKeySet();
  private final AtomicInteger streams = new AtomicInteger();

  /** For callbacks of promises and what else a push stream does aside. */
  private final ThreadPoolExecutor callbacks;

  private final ScheduledThreadPoolExecutor timer;
  private volatile boolean isClosed;

  /**
   * Creates a maker of streams, which the caller closes.
   *
   * @param networks where memories for states come from
   */
  @Activate
  public BurstStreams(@Reference NeuralNetworks networks) {
    this.networks = Objects.requireNonNull(networks, "networks");
    this.callbacks =
        new ThreadPoolExecutor(
            0,
            CALLBACK_THREADS,
            KEEP_SECONDS,
            TimeUnit.SECONDS,
            new SynchronousQueue<>(),
            threads("callback"),
            BurstStreams::runHere);
    this.timer = new ScheduledThreadPoolExecutor(1, threads("timer"));
    timer.setKeepAliveTime(KEEP_SECONDS, TimeUnit.SECONDS);
    timer.allowCoreThreadTimeOut(true);
  }

  private static void runHere(Runnable task, ThreadPoolExecutor pool) {
    if (pool.isShutdown()) {
      throw new RejectedExecutionException("the streams are closed");
    }
    task.run();
  }

  /** Returns a factory of threads that keep nothing of who needs the first of them. */
  private static ThreadFactory threads(String name) {
    AtomicInteger number = new AtomicInteger();
    return task -> {
      Thread thread =
          Thread.ofPlatform()
              .daemon()
              .inheritInheritableThreadLocals(false)
              .name("thalamus-stream-" + name + "-" + number.getAndIncrement())
              .unstarted(task);
      thread.setContextClassLoader(BurstStreams.class.getClassLoader());
      return thread;
    };
  }

  /**
   * Returns the stream of the results of elements, in their order.
   *
   * <p>At most {@link StreamOptions#depth} elements are under way: an element is written to its
   * frame while earlier ones are executed and delivered. When all frames are in use the source is
   * asked to wait, by the time that {@link PushEventConsumer#accept} returns; a source that does
   * not is held up in its next call. A consumer that is slow or asks for time holds up the frames
   * behind it.
   *
   * <p>The end of the source comes after the results of all that it gave before, and so does its
   * error. A stream that is closed, or whose consumer wants no more, delivers nothing further, and
   * closes its source; it does not wait for an execution that runs. An exception of the codec ends
   * it with an error: {@link NeuralNetworksException} when an execution failed and the codec asked
   * for its outputs. A frame that failed leaves states as they were before; a stream whose state
   * was lost with a device ends with DEAD_OBJECT.
   *
   * @param compilation stays open until the stream has ended; devices may come and go
   * @param source opened by the terminal operation
   * @param <T> what comes in
   * @param <R> what goes out
   */
  public <T, R> PushStream<R> stream(
      Compilation compilation,
      StreamOptions options,
      PushEventSource<? extends T> source,
      FrameCodec<? super T, ? extends R> codec) {
    Objects.requireNonNull(compilation, "compilation");
    Objects.requireNonNull(options, "options");
    Objects.requireNonNull(source, "source");
    Objects.requireNonNull(codec, "codec");
    return provider
        .<R, BlockingQueue<PushEvent<? extends R>>>buildStream(
            consumer -> open(compilation, options, source, codec, consumer))
        .unbuffered()
        .withExecutor(callbacks)
        .withScheduler(timer)
        .build();
  }

  /**
   * Returns the stream of the results of elements that come by another stream, which is closed with
   * it.
   */
  public <T, R> PushStream<R> stream(
      Compilation compilation,
      StreamOptions options,
      PushStream<? extends T> elements,
      FrameCodec<? super T, ? extends R> codec) {
    Objects.requireNonNull(elements, "elements");
    PushEventSource<T> source =
        consumer -> {
          elements.forEachEvent(consumer);
          return elements;
        };
    return stream(compilation, options, source, codec);
  }

  private <T, R> AutoCloseable open(
      Compilation compilation,
      StreamOptions options,
      PushEventSource<? extends T> source,
      FrameCodec<? super T, ? extends R> codec,
      PushEventConsumer<? super R> consumer)
      throws Exception {
    Pipeline<T, R> pipeline;
    try {
      if (isClosed) {
        throw new NeuralNetworksException(
            ResultCode.BAD_STATE, "these streams are closed: ask for the service again");
      }
      pipeline =
          new Pipeline<>(
              networks,
              compilation,
              options,
              codec,
              consumer,
              threads(String.valueOf(streams.incrementAndGet())),
              pipelines::remove);
    } catch (NeuralNetworksException e) {
      consumer.accept(PushEvent.error(e));
      return () -> {};
    }
    pipelines.add(pipeline);
    if (isClosed) {
      pipeline.close();
    }
    pipeline.start(source);
    return pipeline;
  }

  /** Closes all streams, and waits for their threads. */
  @Deactivate
  @Override
  public void close() {
    isClosed = true;
    Set<Pipeline<?, ?>> open = Set.copyOf(pipelines);
    open.forEach(Pipeline::close);
    callbacks.shutdown();
    timer.shutdownNow();
    try {
      for (Pipeline<?, ?> pipeline : open) {
        if (!pipeline.join(PATIENCE)) {
          LOG.log(
              Level.WARNING,
              "a stream is closed, but an execution or a consumer still holds a thread of it");
        }
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }
}
