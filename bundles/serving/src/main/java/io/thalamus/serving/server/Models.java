// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.Failure;
import io.thalamus.serving.ServingException;
import java.io.IOException;
import java.lang.System.Logger.Level;
import java.util.Collection;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Function;

/** The models of a folder, and the thread that watches it. Thread-safe. */
final class Models implements AutoCloseable {
  private static final System.Logger LOG = System.getLogger(Models.class.getPackageName());

  private final ModelFolder folder;
  private final Function<String, ServedModel> factory;
  private final long scanMillis;
  private final Runnable afterLook;
  private final Map<String, ServedModel> models = new ConcurrentSkipListMap<>();
  private final Thread watcher;

  /** True if the models of the first look were loaded, or have failed. */
  private volatile boolean isComplete;

  /** Why the folder could not be read at the last look; empty if it could. Of the watcher. */
  private String trouble = "";

  /**
   * The models of a folder. Nothing is read before {@link #start}.
   *
   * @param factory makes a model of this name
   * @param afterLook what else is to be done so often
   */
  Models(
      ModelFolder folder,
      Function<String, ServedModel> factory,
      long scanMillis,
      Runnable afterLook) {
    this.afterLook = afterLook;
    this.folder = folder;
    this.factory = factory;
    this.scanMillis = scanMillis;
    this.watcher =
        Thread.ofPlatform().name("thalamus-serving-watch").daemon().unstarted(this::watch);
  }

  /** Begins to watch: loads what is there, then what changes. */
  void start() {
    watcher.start();
  }

  private void watch() {
    try {
      while (true) {
        look();
        afterLook.run();
        Thread.sleep(scanMillis);
      }
    } catch (InterruptedException e) {
      // It is closed.
      return;
    }
  }

  /** Looks at the folder once. */
  void look() {
    Map<String, NavigableMap<Long, FileStamp>> files;
    try {
      files = folder.look();
      trouble = "";
    } catch (IOException e) {
      // What cannot be seen is not gone.
      if (!trouble.equals(e.toString())) {
        trouble = e.toString();
        LOG.log(Level.WARNING, "the folder of models cannot be read: {0}", trouble);
      }
      return;
    }
    for (String name : files.keySet()) {
      models.computeIfAbsent(name, factory);
    }
    for (Map.Entry<String, ServedModel> model : models.entrySet()) {
      if (Thread.currentThread().isInterrupted()) {
        return;
      }
      NavigableMap<Long, FileStamp> now = files.getOrDefault(model.getKey(), new TreeMap<>());
      try {
        model.getValue().update(now, !isComplete);
      } catch (RuntimeException e) {
        LOG.log(Level.ERROR, "model '" + model.getKey() + "' cannot be updated", e);
      }
      if (now.isEmpty()) {
        models.remove(model.getKey());
      }
    }
    isComplete = true;
  }

  /** Returns whether each wanted model answers. */
  boolean isReady() {
    return isComplete
        && models.values().stream().allMatch(each -> each.isReady() || !each.isWanted());
  }

  Collection<ServedModel> all() {
    return models.values();
  }

  /**
   * Returns a model.
   *
   * @throws ServingException with NOT_FOUND
   */
  ServedModel find(String name) throws ServingException {
    ServedModel model = models.get(name);
    if (model == null) {
      if (!isComplete) {
        throw ServingException.soon(Failure.UNAVAILABLE, "model '" + name + "' is not loaded yet");
      }
      throw notFound(name);
    }
    return model;
  }

  /**
   * Reads the files of a model now.
   *
   * @throws ServingException with NOT_FOUND if there are none, INVALID_ARGUMENT if the newest
   *     version does not serve what its file holds
   */
  void load(String name) throws ServingException {
    NavigableMap<Long, FileStamp> files;
    try {
      files = folder.look().get(name);
    } catch (IOException e) {
      throw new ServingException(
          Failure.INTERNAL, "the folder of models cannot be read: " + e, Optional.empty(), e);
    }
    if (files == null) {
      throw notFound(name);
    }
    ServedModel model = models.computeIfAbsent(name, factory);
    model.want();
    model.update(files, true);
    String reason = model.reason(files.lastKey());
    if (!reason.isEmpty()) {
      throw ServingException.invalid("model '" + name + "' cannot be served: " + reason);
    }
  }

  private ServingException notFound(String name) {
    return new ServingException(
        Failure.NOT_FOUND,
        "there is no model '%s': the server has %s"
            .formatted(name, models.isEmpty() ? "none" : String.join(", ", models.keySet())));
  }

  /** Ends watching, and serves nothing any more. */
  @Override
  public void close() {
    watcher.interrupt();
    boolean isInterrupted = false;
    while (watcher.isAlive()) {
      try {
        watcher.join();
      } catch (InterruptedException e) {
        isInterrupted = true;
      }
    }
    models.values().forEach(model -> model.unload("the server ends"));
    if (isInterrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
