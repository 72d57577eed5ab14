// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.api.NeuralNetworksException;
import io.thalamus.model.Shape;
import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/**
 * What serves a version for other dimensions of its inputs than its file was read with: the latest
 * {@value #MOST}. One that makes room for another is closed with its last request. Thread-safe.
 */
final class ShapedVersions implements AutoCloseable {
  private static final int MOST = 8;

  private final Loader loader;
  private final String file;

  /** From the one that has not been used for the longest time. */
  private final Map<Map<String, Shape>, FutureTask<LoadedVersion>> versions =
      new LinkedHashMap<>(16, 0.75f, true);

  /** Reads and compiles a file for some dimensions. */
  @FunctionalInterface
  interface Loader {
    LoadedVersion load(Map<String, Shape> shapes) throws NeuralNetworksException, ServingException;
  }

  /**
   * None yet.
   *
   * @param file its path, which clients do not see in a reason
   */
  ShapedVersions(String file, Loader loader) {
    this.file = file;
    this.loader = loader;
  }

  /** Returns whether there is one for these dimensions, so that nobody has to wait for it. */
  synchronized boolean has(Map<String, Shape> shapes) {
    return Optional.ofNullable(versions.get(shapes)).filter(Future::isDone).isPresent();
  }

  /**
   * Returns the one for these dimensions, used by one more. The first that asks loads it.
   *
   * @throws ServingException if it cannot be loaded
   */
  LoadedVersion acquire(Map<String, Shape> shapes) throws ServingException {
    while (true) {
      FutureTask<LoadedVersion> task;
      synchronized (this) {
        task = versions.computeIfAbsent(shapes, key -> new FutureTask<>(() -> loader.load(key)));
        makeRoom(task);
      }
      task.run();
      try {
        LoadedVersion loaded = task.get();
        if (loaded.acquire()) {
          return loaded;
        }
        // It made room for another one in between.
      } catch (ExecutionException e) {
        synchronized (this) {
          versions.remove(shapes, task);
        }
        throw failure(e.getCause());
      } catch (InterruptedException e) {
        Thread.currentThread().interrupt();
        throw new ServingException(Failure.CANCELLED, "the thread of the request is to end");
      }
    }
  }

  private ServingException failure(Throwable cause) {
    return switch (cause) {
      case ServingException e -> e;
      case NeuralNetworksException e -> {
        String why = e.getMessage().replace(file + ": ", "");
        yield Codes.of(
            "the model cannot take these dimensions: ",
            new NeuralNetworksException(e.code(), why, e.retryAfter(), e));
      }
      default -> throw new IllegalStateException("a model could not be loaded again", cause);
    };
  }

  private void makeRoom(FutureTask<LoadedVersion> spared) {
    Iterator<FutureTask<LoadedVersion>> all = versions.values().iterator();
    while (versions.size() > MOST && all.hasNext()) {
      FutureTask<LoadedVersion> eldest = all.next();
      if (eldest != spared && eldest.isDone()) {
        all.remove();
        release(eldest);
      }
    }
  }

  /** Lets go of one that is loaded, unless its loading failed. */
  private static void release(Future<LoadedVersion> done) {
    if (done.state() == Future.State.SUCCESS) {
      done.resultNow().release();
    }
  }

  /** Lets go of all. Nobody acquires one at the same time or later. */
  @Override
  public synchronized void close() {
    versions.values().forEach(ShapedVersions::release);
    versions.clear();
  }
}
