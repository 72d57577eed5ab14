// SPDX-License-Identifier: Apache-2.0
package io.thalamus.api;

import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.Shape;
import java.util.LinkedHashMap;
import java.util.Map;

/**
 * Compilations of a model for other dimensions than it was loaded with: the latest {@value #LEAST},
 * and as many before them as hold 256 MiB together beside what they share. Thread-safe. A
 * compilation that makes room for another one ends with its last execution.
 */
final class ShapedNetworks implements AutoCloseable {
  private static final int LEAST = 8;
  private static final long MOST_BYTES = 256L << 20;

  private final NeuralNetworks networks;
  private final LoadedModel loaded;
  private final CompilationOptions options;

  /** From the one that has not been used for the longest time. */
  private final Map<Map<String, Shape>, Variant> variants = new LinkedHashMap<>(16, 0.75f, true);

  private boolean closed;

  ShapedNetworks(NeuralNetworks networks, LoadedModel loaded, CompilationOptions options) {
    this.networks = networks;
    this.loaded = loaded;
    this.options = options;
  }

  /** An execution of a compilation. */
  @FunctionalInterface
  interface Run {
    Answer of(Compilation compilation) throws NeuralNetworksException;
  }

  /** Executes with the compilation for dimensions, which is made if it is missing. */
  Answer run(Map<String, Shape> shapes, Run run) throws NeuralNetworksException {
    Variant variant = use(shapes);
    try {
      boolean isNew = !variant.isCompiled();
      Compilation compilation = variant.compilation();
      if (isNew) {
        makeRoom();
      }
      return run.of(compilation);
    } catch (NeuralNetworksException e) {
      if (!variant.isCompiled()) {
        forget(shapes, variant);
      }
      throw e;
    } finally {
      variant.uses.release();
    }
  }

  private synchronized Variant use(Map<String, Shape> shapes) {
    if (closed) {
      throw new IllegalStateException("the network is closed");
    }
    Variant variant = variants.computeIfAbsent(shapes, Variant::new);
    variant.uses.retain();
    return variant;
  }

  private synchronized void makeRoom() {
    long held = variants.values().stream().mapToLong(variant -> variant.bytes).sum();
    while (variants.size() > LEAST && held > MOST_BYTES) {
      Map<String, Shape> eldest = variants.keySet().iterator().next();
      Variant removed = variants.remove(eldest);
      held -= removed.bytes;
      removed.uses.close();
    }
  }

  private synchronized void forget(Map<String, Shape> shapes, Variant variant) {
    if (variants.remove(shapes, variant)) {
      variant.uses.close();
    }
  }

  @Override
  public synchronized void close() {
    closed = true;
    variants.values().forEach(variant -> variant.uses.close());
    variants.clear();
  }

  /** The model for some dimensions, compiled by its first user. */
  private final class Variant {
    private final Map<String, Shape> shapes;
    private final ReferenceCount uses = new ReferenceCount(this::free);
    private LoadedModel model;
    private Compilation compilation;

    /** Beside what it shares; 0 until it is compiled. */
    private volatile long bytes;

    Variant(Map<String, Shape> shapes) {
      this.shapes = shapes;
    }

    synchronized boolean isCompiled() {
      return compilation != null;
    }

    synchronized Compilation compilation() throws NeuralNetworksException {
      if (compilation == null) {
        if (model == null) {
          model = loaded.with(loaded.options().withShapes(shapes));
        }
        CompilationOptions own =
            options.caching().isEmpty() ? options : options.with(cache(options.caching().get()));
        compilation = networks.compile(model.model(), own);
        bytes = compilation.ownBytes();
      }
      return compilation;
    }

    private CacheOptions cache(CacheOptions base) {
      return new CacheOptions(base.directory(), model.token(), base.label());
    }

    private synchronized void free() {
      if (compilation != null) {
        compilation.close();
      }
      if (model != null) {
        model.close();
      }
    }
  }
}
