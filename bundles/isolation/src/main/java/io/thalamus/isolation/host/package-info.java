// SPDX-License-Identifier: Apache-2.0
/** The process of an isolated device: its driver's side of the connection. */
package io.thalamus.isolation.host;
