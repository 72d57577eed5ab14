// SPDX-License-Identifier: Apache-2.0
package io.thalamus.burst;

import io.thalamus.hal.ExecutionConfig;
import io.thalamus.hal.ExecutionResult;
import io.thalamus.hal.Request;
import io.thalamus.memory.SharedMemory;
import java.lang.ref.Reference;

/**
 * A client as its owner has it. Nothing of the burst refers to it, so that one which its owner
 * forgot is noticed, and its channel closed. Thread-safe as {@link BurstClient} says.
 */
record OwnedClient(BurstClient channel) implements BurstClient {
  @Override
  public boolean send(Request request, ExecutionConfig config) {
    try {
      return channel.send(request, config);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public ExecutionResult receive(long timeoutNanos) {
    try {
      return channel.receive(timeoutNanos);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public ExecutionResult execute(Request request, ExecutionConfig config) {
    try {
      return channel.execute(request, config);
    } finally {
      Reference.reachabilityFence(this);
    }
  }

  @Override
  public void cancel() {
    channel.cancel();
  }

  @Override
  public long checkpoints() {
    return channel.checkpoints();
  }

  @Override
  public int underWay() {
    return channel.underWay();
  }

  @Override
  public void freeMemory(SharedMemory memory) {
    channel.freeMemory(memory);
  }

  @Override
  public boolean isServedByDriver() {
    return channel.isServedByDriver();
  }

  @Override
  public boolean isServedByCaller() {
    return channel.isServedByCaller();
  }

  @Override
  public boolean isBroken() {
    return channel.isBroken();
  }

  @Override
  public BurstStatistics statistics() {
    return channel.statistics();
  }

  @Override
  public void close() {
    // It is not forgotten while it is being closed, which may take its time.
    try {
      channel.close();
    } finally {
      Reference.reachabilityFence(this);
    }
  }
}
