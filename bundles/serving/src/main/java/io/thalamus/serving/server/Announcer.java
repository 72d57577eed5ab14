// SPDX-License-Identifier: Apache-2.0
package io.thalamus.serving.server;

import io.thalamus.serving.IndexEntry;
import io.thalamus.serving.ServingListener;
import io.thalamus.serving.ServingListener.EndedRequest;
import java.lang.System.Logger.Level;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.Consumer;

/** The listeners that are here now. Thread-safe. One that throws is logged, and hears the next. */
final class Announcer {
  private static final System.Logger LOG = System.getLogger(Announcer.class.getPackageName());

  private final List<ServingListener> listeners = new CopyOnWriteArrayList<>();

  void add(ServingListener listener) {
    listeners.add(listener);
  }

  void remove(ServingListener listener) {
    listeners.remove(listener);
  }

  void arrived(String model, String version) {
    tell(listener -> listener.arrived(model, version));
  }

  void ended(EndedRequest request) {
    tell(listener -> listener.ended(request));
  }

  void changed(IndexEntry entry) {
    tell(listener -> listener.changed(entry));
  }

  private void tell(Consumer<ServingListener> news) {
    for (ServingListener listener : listeners) {
      try {
        news.accept(listener);
      } catch (RuntimeException e) {
        LOG.log(Level.WARNING, "a listener failed: " + listener.getClass().getName(), e);
      }
    }
  }
}
