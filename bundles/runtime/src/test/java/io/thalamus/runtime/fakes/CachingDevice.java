// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.fakes;

import io.thalamus.hal.CacheFile;
import io.thalamus.hal.DelegatingPreparedModel;
import io.thalamus.hal.DeviceException;
import io.thalamus.hal.PrepareConfig;
import io.thalamus.hal.PrepareConfig.Cache;
import io.thalamus.hal.PreparedModel;
import io.thalamus.model.CacheNeeds;
import io.thalamus.model.DeviceInfo;
import io.thalamus.model.ErrorStatus;
import io.thalamus.model.Model;
import io.thalamus.model.Operation;
import io.thalamus.model.Subgraph;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiPredicate;
import java.util.stream.Stream;

/**
 * A device that stores what it prepares, and trusts nothing that it reads.
 *
 * <p>Each file holds the token, the number of the model in a vault, some padding, and a digest of
 * all of it. The vault stands for compiled code: a device that is given another model's files
 * computes that other model, so that a wrong hit is seen as a wrong answer.
 */
public class CachingDevice extends LimitedDevice {
  private static final int HEAD = 40;
  private static final int DIGEST = 32;
  private static final int PIECE = 500;

  private final Vault vault;
  private final AtomicInteger withCache = new AtomicInteger();
  private final AtomicInteger restores = new AtomicInteger();
  private final AtomicInteger restored = new AtomicInteger();
  private final AtomicReference<ErrorStatus> refusal = new AtomicReference<>();
  private volatile String staleness = "";
  private volatile Hook hook = (name, cache) -> {};

  /** Keeps models by number. Thread-safe. */
  public interface Vault {
    /** Keeps a model. */
    long put(Model model);

    /** The model of a number. */
    Model get(long number);

    /** A vault in memory, which devices may share as builds of one driver would. */
    static Vault inMemory() {
      List<Model> models = new CopyOnWriteArrayList<>();
      return new Vault() {
        @Override
        public synchronized long put(Model model) {
          models.add(model);
          return models.size() - 1L;
        }

        @Override
        public Model get(long number) {
          return models.get((int) number);
        }
      };
    }
  }

  /** Is called inside of a prepare with files. */
  @FunctionalInterface
  public interface Hook {
    void during(String call, Cache cache) throws DeviceException, IOException;
  }

  public CachingDevice(DeviceInfo info, BiPredicate<Subgraph, Operation> claims, Vault vault) {
    super(info, claims);
    this.vault = vault;
  }

  /** An accelerator that executes everything and stores it in so many files. */
  public static CachingDevice of(String id, int modelFiles, int dataFiles) {
    return new CachingDevice(
        LimitedDevice.info("test-" + id, io.thalamus.model.DeviceType.ACCELERATOR, 0.5)
            .cacheNeeds(new CacheNeeds(modelFiles, dataFiles))
            .build(),
        (graph, operation) -> true,
        Vault.inMemory());
  }

  /** Restores nothing from now on, with this status; null ends that. */
  public CachingDevice refuse(ErrorStatus status) {
    refusal.set(status);
    return this;
  }

  /** Calls what it restores from now on worth compiling anew; an empty reason ends that. */
  public CachingDevice withStaleness(String reason) {
    staleness = reason;
    return this;
  }

  public CachingDevice on(Hook value) {
    hook = value;
    return this;
  }

  /** Returns the number of prepares that were given files. */
  public int preparedWithCache() {
    return withCache.get();
  }

  /** Returns the number of requests to restore. */
  public int restores() {
    return restores.get();
  }

  /** Returns the number of models that it restored. */
  public int restored() {
    return restored.get();
  }

  @Override
  public PreparedModel prepare(Model model, PrepareConfig config) throws DeviceException {
    if (config.cache().isPresent()) {
      checkCount(config.cache().get());
      withCache.incrementAndGet();
      call("prepare", config.cache().get());
    }
    PreparedModel prepared = super.prepare(model, config);
    if (config.cache().isPresent()) {
      Cache cache = config.cache().get();
      long number = vault.put(model);
      files(cache).forEach(file -> write(file, cache.token().toArray(), number));
    }
    return prepared;
  }

  @Override
  public PreparedModel prepareFromCache(PrepareConfig config) throws DeviceException {
    restores.incrementAndGet();
    Cache cache = config.cache().orElseThrow();
    checkCount(cache);
    call("prepareFromCache", cache);
    ErrorStatus status = refusal.get();
    if (status != null) {
      throw new DeviceException(status, "it restores nothing");
    }
    byte[] token = cache.token().toArray();
    long number = -1;
    for (CacheFile file : files(cache).toList()) {
      long one = read(file, token);
      if (number >= 0 && one != number) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "files of two compilations");
      }
      number = one;
    }
    PreparedModel open = open(vault.get(number));
    restored.incrementAndGet();
    String reason = staleness;
    return new DelegatingPreparedModel(this, open) {
      @Override
      public Optional<String> staleness() {
        return reason.isEmpty() ? Optional.empty() : Optional.of(reason);
      }
    };
  }

  private void call(String name, Cache cache) throws DeviceException {
    try {
      hook.during(name, cache);
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the files cannot be used", e);
    }
  }

  private void checkCount(Cache cache) {
    CacheNeeds given = new CacheNeeds(cache.modelCache().size(), cache.dataCache().size());
    if (!given.equals(info().cacheNeeds())) {
      throw new IllegalStateException(given + " instead of " + info().cacheNeeds());
    }
  }

  private static Stream<CacheFile> files(Cache cache) {
    return Stream.concat(cache.modelCache().stream(), cache.dataCache().stream());
  }

  /** Writes a file as a device does. */
  public static void write(CacheFile file, byte[] token, long number) {
    ByteBuffer content = ByteBuffer.allocate(HEAD + padding(number) + DIGEST);
    content.put(token).putLong(number).position(content.capacity() - DIGEST);
    content.put(digest(Arrays.copyOf(content.array(), content.position()))).flip();
    try {
      file.channel().truncate(0);
      file.channel().position(0);
      while (content.hasRemaining()) {
        // In pieces, so that a process can die between them.
        content.limit(Math.min(content.capacity(), content.position() + PIECE));
        file.channel().write(content);
        content.limit(content.capacity());
      }
    } catch (IOException full) {
      // Trouble with the cache never fails a prepare.
      file.abandon(full);
    }
  }

  private static long read(CacheFile file, byte[] token) throws DeviceException {
    try {
      ByteBuffer content = ByteBuffer.allocate((int) Math.min(file.channel().size(), 1 << 20));
      while (content.hasRemaining() && file.channel().read(content, content.position()) > 0) {
        // Until all of it is there.
      }
      int end = content.position() - DIGEST;
      if (end < HEAD
          || !Arrays.equals(
              digest(Arrays.copyOf(content.array(), end)),
              Arrays.copyOfRange(content.array(), end, end + DIGEST))
          || !Arrays.equals(Arrays.copyOf(content.array(), token.length), token)) {
        throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the file is damaged");
      }
      return content.getLong(token.length);
    } catch (IOException e) {
      throw new DeviceException(ErrorStatus.GENERAL_FAILURE, "the file cannot be read", e);
    }
  }

  private static int padding(long number) {
    return (int) (number % 7) * 1_000;
  }

  private static byte[] digest(byte[] content) {
    try {
      return MessageDigest.getInstance("SHA-256").digest(content);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException(e);
    }
  }
}
