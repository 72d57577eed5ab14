// SPDX-License-Identifier: Apache-2.0
package io.thalamus.shell.model;

import io.thalamus.api.CacheOptions;
import io.thalamus.api.Compilation;
import io.thalamus.api.CompilationOptions;
import io.thalamus.api.LoadedModel;
import io.thalamus.api.NeuralNetworks;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.api.Plan;
import io.thalamus.memory.ReferenceCount;
import io.thalamus.model.reader.ReadOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * A model that stays loaded, with the compilations that commands made of it: these live on while
 * devices come and go. Thread-safe; closed once it is retired and no command uses it.
 */
public final class ResidentModel {
  private static final int MOST_VARIANTS = 8;

  private final NeuralNetworks networks;
  private final String name;
  private final LoadedModel loaded;
  private final Optional<CacheOptions> caching;
  private final Object lock = new Object();
  private final Map<CompilationOptions, Compilation> compilations = new LinkedHashMap<>();

  /** The same model read with other choices, from the one unused for the longest time. */
  private final Map<ReadOptions, ResidentModel> variants = new LinkedHashMap<>(16, 0.75f, true);

  private final ReferenceCount uses = new ReferenceCount(this::closeAll);

  ResidentModel(
      NeuralNetworks networks, String name, LoadedModel loaded, Optional<CacheOptions> caching) {
    this.networks = networks;
    this.name = name;
    this.loaded = loaded;
    this.caching = caching;
  }

  /** Returns its name for people. */
  public String name() {
    return name;
  }

  /** The model. */
  public LoadedModel loaded() {
    return loaded;
  }

  /** Returns the cache of its compilations, if there is one. */
  public Optional<CacheOptions> caching() {
    return caching;
  }

  /** The compilations as they are now. */
  public List<Compilation> compilations() {
    synchronized (lock) {
      return new ArrayList<>(compilations.values());
    }
  }

  /** For each compilation as it is now, the operations by device. */
  public List<Map<String, Integer>> placements() {
    return compilations().stream().map(ResidentModel::placement).toList();
  }

  private static Map<String, Integer> placement(Compilation compilation) {
    Map<String, Integer> operations = new TreeMap<>();
    for (Plan.PlannedOperation operation : compilation.plan().operations()) {
      operations.merge(operation.device(), 1, Integer::sum);
    }
    return operations;
  }

  /** A use, unless the model is about to be closed. */
  Optional<OpenModel> use() {
    return uses.retain() ? Optional.of(new Use()) : Optional.empty();
  }

  void retire() {
    uses.close();
  }

  private OpenModel use(ReadOptions options) throws NeuralNetworksException {
    synchronized (lock) {
      ResidentModel variant = variants.get(options);
      if (variant == null) {
        LoadedModel other = loaded.with(options);
        variant =
            new ResidentModel(
                networks,
                name,
                other,
                caching.map(own -> new CacheOptions(own.directory(), other.token(), own.label())));
        variants.put(options, variant);
      }
      OpenModel use = variant.use().orElseThrow();
      if (variants.size() > MOST_VARIANTS) {
        variants.remove(variants.keySet().iterator().next()).retire();
      }
      return use;
    }
  }

  private void closeAll() {
    synchronized (lock) {
      variants.values().forEach(ResidentModel::retire);
      variants.clear();
      compilations.values().forEach(Compilation::close);
      compilations.clear();
      loaded.close();
    }
  }

  /** One command's use. */
  private final class Use implements OpenModel {
    private final AtomicBoolean closed = new AtomicBoolean();

    /** The model with other choices; null for the usual ones. */
    private OpenModel other;

    @Override
    public LoadedModel loaded() {
      return other == null ? loaded : other.loaded();
    }

    @Override
    public void choose(ReadOptions options) throws NeuralNetworksException {
      if (options.equals(loaded().options())) {
        return;
      }
      OpenModel chosen = use(options);
      if (other != null) {
        other.close();
      }
      other = chosen;
    }

    @Override
    public Optional<CacheOptions> caching() {
      return other == null ? caching : other.caching();
    }

    @Override
    public Compilation compile(CompilationOptions options) throws NeuralNetworksException {
      if (other != null) {
        return other.compile(options);
      }
      synchronized (lock) {
        Compilation compilation = compilations.get(options);
        if (compilation == null) {
          compilation = networks.compile(loaded.model(), options);
          compilations.put(options, compilation);
        }
        return compilation;
      }
    }

    @Override
    public void close() {
      if (closed.compareAndSet(false, true)) {
        if (other != null) {
          other.close();
        }
        uses.release();
      }
    }
  }
}
