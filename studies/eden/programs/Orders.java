import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** Orders of customers, kept in maps and evaluated in order. */
public final class Orders {
    private Orders() {}

    private record Order(int number, int price) {}

    private static final class Customer {
        final List<Order> orders = new ArrayList<>();
        long total;
    }

    public static void main(String[] args) {
        int count = Integer.parseInt(args[0]);
        long state = 88172645463325252L;
        Map<String, Customer> customers = new HashMap<>();
        for (int i = 0; i < count; i++) {
            state ^= state << 13;
            state ^= state >>> 7;
            state ^= state << 17;
            int price = (int) Math.floorMod(state, 997L);
            String name = "customer " + Math.floorMod(state >> 20, count / 4);
            Customer customer = customers.computeIfAbsent(name, key -> new Customer());
            customer.orders.add(new Order(i, price));
            customer.total += price;
        }
        long sum = 0;
        for (Map.Entry<String, Customer> entry : new TreeMap<>(customers).entrySet()) {
            sum = sum * 31 + entry.getValue().total + entry.getKey().length();
            for (Order order : entry.getValue().orders) {
                sum += order.number() % 7;
            }
        }
        System.out.println(customers.size() + " " + sum);
    }
}
