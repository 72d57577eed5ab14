// SPDX-License-Identifier: Apache-2.0
package io.thalamus.runtime.domain;

import io.thalamus.api.MemoryDesc;
import io.thalamus.api.MemoryInfo;
import io.thalamus.api.NeuralNetworksException;
import io.thalamus.cache.CacheEngine;
import io.thalamus.model.NanoClock;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.osgi.service.component.annotations.Activate;
import org.osgi.service.component.annotations.Component;
import org.osgi.service.component.annotations.Deactivate;
import org.osgi.service.component.annotations.Reference;
import org.osgi.service.component.annotations.ReferenceCardinality;
import org.osgi.service.component.annotations.ReferencePolicy;

/** The memories of all applications. Thread-safe; owns those that nobody has closed. */
@Component(service = MemoryDomains.class)
public final class MemoryDomains implements AutoCloseable {
  /** The time that a device has for an execution of which nothing was measured yet. */
  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private final Duration patience;
  private final NanoClock clock;

  /** Vouches for saved contents; null without a caching engine. */
  @Reference(cardinality = ReferenceCardinality.OPTIONAL, policy = ReferencePolicy.DYNAMIC)
  private volatile CacheEngine engine;

  private final StateFiles files = new StateFiles(() -> engine);

  private final AtomicLong numbers = new AtomicLong();
  private final ConcurrentSkipListMap<Long, DomainMemory> live = new ConcurrentSkipListMap<>();

  /** Creates memories with the usual patience, by the clock of the machine. */
  @Activate
  public MemoryDomains() {
    this(null);
  }

  /**
   * Creates memories with the usual patience.
   *
   * @param engine vouches for saved contents; null to save none
   */
  public MemoryDomains(CacheEngine engine) {
    this(PATIENCE, System::nanoTime, engine);
  }

  /**
   * Creates memories with another patience.
   *
   * @param patience how long a copy waits for executions if none of them ends
   * @param engine vouches for saved contents; null to save none
   */
  public MemoryDomains(Duration patience, NanoClock clock, CacheEngine engine) {
    this.engine = engine;
    this.patience = patience;
    this.clock = clock;
  }

  /**
   * Makes a memory; see {@code NeuralNetworks.createMemory}.
   *
   * @param owner the application, for people
   * @param onClose called once, when it is closed
   */
  public DomainMemory create(MemoryDesc desc, String owner, Consumer<DomainMemory> onClose)
      throws NeuralNetworksException {
    RoleSet roleSet = RoleSet.of(desc);
    MemoryState state = new MemoryState(roleSet);
    state.allocate();
    DomainMemory memory =
        new DomainMemory(
            numbers.incrementAndGet(),
            owner,
            roleSet,
            state,
            files,
            patience,
            clock,
            closed -> {
              live.remove(closed.number());
              onClose.accept(closed);
            });
    live.put(memory.number(), memory);
    return memory;
  }

  /** Returns the open memories, in the order in which they were made. */
  public List<MemoryInfo> descriptions() {
    return live.values().stream().map(DomainMemory::describe).toList();
  }

  @Deactivate
  @Override
  public void close() {
    Set.copyOf(live.values()).forEach(DomainMemory::close);
  }
}
