// SPDX-License-Identifier: Apache-2.0
package io.thalamus.memory;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.function.ToLongFunction;

/**
 * Values that are made on demand, one for each key: the latest {@value #LEAST} that were used, and
 * as many before them as hold 256 MiB together. The first user of a key makes its value, and all
 * who came meanwhile get it, or the failure, which is then forgotten. A value is closed with its
 * last use once it has made room for another one. Thread-safe; owned by whoever made it.
 *
 * @param <K> a key
 * @param <V> its value
 * @param <E> the failure of making one
 */
public final class Variants<K, V, E extends Exception> implements AutoCloseable {
  private static final int LEAST = 8;
  private static final long MOST_BYTES = 256L << 20;

  private final Maker<K, V, E> maker;
  private final ToLongFunction<V> bytes;
  private final Consumer<V> closer;

  /** From the one that has not been used for the longest time. */
  private final Map<K, Variant> variants = new LinkedHashMap<>(16, 0.75f, true);

  private boolean isClosed;

  /** Makes the value of a key. */
  @FunctionalInterface
  public interface Maker<K, V, E extends Exception> {
    V make(K key) throws E;
  }

  /** A use of a value, which is ended once. */
  public record Use<V>(V value, Runnable end) implements AutoCloseable {
    @Override
    public void close() {
      end.run();
    }
  }

  /**
   * None yet.
   *
   * @param bytes those that a value holds; asked once
   * @param closer is called once for each value, in the thread of its last user, and does not throw
   */
  public Variants(Maker<K, V, E> maker, ToLongFunction<V> bytes, Consumer<V> closer) {
    this.maker = maker;
    this.bytes = bytes;
    this.closer = closer;
  }

  /** Returns whether the value of a key is made, so that nobody has to wait for it. */
  public synchronized boolean has(K key) {
    Variant variant = variants.get(key);
    return variant != null && variant.value != null;
  }

  /**
   * Begins a use of the value of a key, which is made if it is missing.
   *
   * @throws E if it cannot be made
   * @throws IllegalStateException if this is closed
   */
  public Use<V> use(K key) throws E {
    Variant variant = variant(key);
    try {
      if (variant.make()) {
        makeRoom();
      }
      return new Use<>(variant.value, variant.uses::release);
    } finally {
      if (variant.value == null) {
        forget(variant);
      }
    }
  }

  private synchronized Variant variant(K key) {
    if (isClosed) {
      throw new IllegalStateException("the model is closed");
    }
    Variant variant = variants.computeIfAbsent(key, Variant::new);
    variant.uses.retain();
    return variant;
  }

  private synchronized void makeRoom() {
    long held = variants.values().stream().mapToLong(variant -> variant.held).sum();
    Iterator<Variant> eldest = variants.values().iterator();
    while (variants.size() > LEAST && held > MOST_BYTES) {
      Variant next = eldest.next();
      held -= next.held;
      eldest.remove();
      next.uses.close();
    }
  }

  private synchronized void forget(Variant variant) {
    variants.remove(variant.key, variant);
  }

  /** Closes all values, each with its last use. */
  @Override
  public synchronized void close() {
    isClosed = true;
    variants.values().forEach(variant -> variant.uses.close());
    variants.clear();
  }

  private final class Variant {
    private final K key;
    private final ReferenceCount uses = new ReferenceCount(this::free);
    private Exception failure;

    /** Null until it is made. */
    private volatile V value;

    private volatile long held;

    Variant(K key) {
      this.key = key;
    }

    /** Returns true if this call has made it. */
    @SuppressWarnings("unchecked") // a failure that is no E is unchecked itself
    synchronized boolean make() throws E {
      if (failure != null) {
        throw (E) failure;
      }
      if (value != null) {
        return false;
      }
      try {
        value = maker.make(key);
        held = bytes.applyAsLong(value);
        return true;
      } catch (Exception e) {
        failure = e;
        throw e;
      }
    }

    private void free() {
      if (value != null) {
        closer.accept(value);
      }
    }
  }
}
