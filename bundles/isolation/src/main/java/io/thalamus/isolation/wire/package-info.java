// SPDX-License-Identifier: Apache-2.0
/** The messages between a container and the process of an isolated device. */
package io.thalamus.isolation.wire;
